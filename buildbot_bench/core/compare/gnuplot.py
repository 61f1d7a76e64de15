"""The gnuplot script that draws the graph of a result directory."""

from collections.abc import Mapping

# Of Ethernet, in bits a packet: (7 x (40 + 14) + 4 x (576 + 14) + (1500 + 14)) / 12 x 8.
_IMIX_BITS = 2834.666667
_WIDTH = 0.8  # of all boxes of a workload together, of the distance between workloads
_COLOURS = ("#A00000", "#00A000", "#5060D0", "#F25900", "#7A3E9D", "#808000", "#008080", "#404040")
_FILLS = ("", " fs pattern 5", " fs pattern 1", " fs pattern 2")


def gnuplot_script(title: str, unit: str, images: Mapping[str, str]) -> str:
    """Draws IMAGE.data of all `images`, by label, as graph.png, or graph.svg with `-e svg=1`."""
    width = _WIDTH / max(1, len(images))
    lines = [
        "# gnuplot gnuplot.plt draws graph.png; gnuplot -e svg=1 gnuplot.plt draws graph.svg",
        "if (exists('svg')) {",
        "    set terminal svg size 1024,768 rounded",
        "    set output 'graph.svg'",
        "} else {",
        "    set terminal png truecolor size 1920,1080 font ',22'",
        "    set output 'graph.png'",
        "}",
        f"set title {_quoted(title)} noenhanced",
        f"set ylabel {_quoted(f'{unit}: median, minimum and maximum of the boots')} noenhanced",
        "set yrange [0:*]",
        "set xrange [-0.6:*]",
        "set autoscale xfixmax",  # and as much air on the right as on the left
        "set offsets 0, 0.2, 0, 0",
        "set grid ytics back",
        "set border 3",
        "set tics nomirror",
        "set ytics format '%.0s%c'",
        "set xtics noenhanced",
        "set key below center noenhanced",  # inside it would lie on the boxes of many workloads
        "set style fill transparent solid 0.5",
        f"set boxwidth {width:.4f}",
    ]
    if unit == "pps":
        lines += [
            f"set link y2 via y * {_IMIX_BITS} inverse y / {_IMIX_BITS}",
            "set y2tics format '%.1s%cb/s'",
            "set y2label 'the same packet rate with a simple IMIX (Ethernet)'",
        ]
    return "\n".join([*lines, _plot(images, width), ""])


def _plot(images: Mapping[str, str], width: float) -> str:
    drawn: list[str] = []
    for place, (image, label) in enumerate(images.items()):
        shift = (place - (len(images) - 1) / 2) * width
        x, file = f"($0{shift:+.4f})", _quoted(f"{image}.data")
        colour = _COLOURS[place % len(_COLOURS)]
        if place == 0:  # the names of the workloads, in the middle of their boxes
            drawn.append(f"{file} using 0:(0):xtic(1) with dots notitle")
        # What has a colour again is hatched.
        fill = _FILLS[place // len(_COLOURS)]
        boxes = f"with boxes{fill} lc rgb '{colour}' title {_quoted(label)}"
        drawn.append(f"{file} using {x}:2 {boxes}")
        drawn.append(f"{file} using {x}:2:3:4 with yerrorbars lc rgb '{colour}' pt 1 notitle")
    return "plot " + ", \\\n     ".join(drawn)


def _quoted(text: str) -> str:
    """Between single quotes nothing means anything to gnuplot but the quote, which is doubled."""
    return "'" + text.replace("'", "''").replace("\n", " ") + "'"
