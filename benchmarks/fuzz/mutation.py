"""Bytes and words of files, changed at random."""

from benchmarks.fuzz.draw import Draw

TOKENS = ("nan", "inf", "-1", "0", "1.9", "1e39", "1e400", "", "x", "0x10", "9" * 20, "\x00", "é", "1 2", ";")


def damaged(draw: Draw, content: bytes) -> bytes:
    """Flipped, cut, doubled, emptied or overwritten in some place."""
    if not content:
        return b"\xff"
    first = draw.whole(0, len(content) - 1)
    last = min(len(content), first + draw.whole(1, 16))
    ways = (
        lambda: content[:first] + bytes([content[first] ^ (1 << draw.whole(0, 7))]) + content[first + 1 :],
        lambda: content[:first],
        lambda: content[:first] + content[last:],
        lambda: content[:first] + content[first:last] * 2 + content[last:],
        lambda: content[:first] + bytes(last - first) + content[last:],
        lambda: content[:first] + draw.random.randbytes(last - first) + content[last:],
        lambda: b"",
        lambda: content + draw.random.randbytes(9),
    )
    return draw.pick(ways)()


def reworded(draw: Draw, text: str) -> str:
    """One number or word of a text becomes another one, or a line is lost, doubled or moved."""
    lines = text.split("\n")
    place = draw.whole(0, max(0, len(lines) - 2))
    way = draw.whole(0, 5)
    if way == 0:
        del lines[place]
    elif way == 1:
        lines.insert(place, lines[place])
    elif way == 2:
        lines.insert(draw.whole(0, len(lines)), draw.pick(TOKENS))
    else:
        words = lines[place].replace(",", " , ").split(" ")
        words[draw.whole(0, len(words) - 1)] = draw.pick(TOKENS)
        lines[place] = " ".join(words)
    return "\n".join(lines)
