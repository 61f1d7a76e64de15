"""The texts of --help for searches and comparisons without a farm."""

from buildbot_bench.lab.command.presets import PRESETS

_TOOLS = "\n".join(f"    {name}  {preset.needs}".rstrip() for name, preset in PRESETS.items())
_MEASURING = f"""\
values:
  cpu                    processor time, user and system, in seconds (default); less is better
  wall, user             seconds by the clock, or of user time alone, which clocks tell coarsely
  instructions           counted by perf or valgrind; less is better
  last-number            the last number that it prints; more is better
  json:results[0].mean   a number in the JSON that it prints
  'regex:speed: ([\\d.]+)'   the number in the parentheses
  all                    each value that a suite prints, for bench-compare
  go-bench:NAME          the one with this name
  hyperfine, …           what a known tool prints, with the options that it needs:
{_TOOLS}

without --build and --run:
  bench.yml in the repository's top says how to build, and a testbed of the driver `command` in
  the testbeds.toml beside it how to measure: --workload names one of several

exit status of a build or run:
  125   the revision cannot be tested and is stepped around, as for `git bisect run`
  126, 127   the command itself is wrong; anything else is the revision's failure
"""

BISECT_EPILOG = f"""\
examples:
  bench-bisect --local v1.9.4 v1.10.0 --build 'make -j4 lib' --run './bench' --value last-number
  bench-bisect --local main~50 main --build make --run './parse big.json' --min-effect 1%
  bench-bisect --local v2 HEAD --run 'python3 bench.py' --value instructions
  bench-bisect --local v2 HEAD --workload compress       as bench.yml builds and measures

Ctrl-C or a crash loses nothing but the run under way: the same command goes on.

{_MEASURING}
exit status:
    0  answered: what changed was found
    1  the ends do not differ
    2  the command line is wrong, or an end of the range does not build or run
    3  inconclusive
    4  the machine or the command failed
  130  interrupted
"""

COMPARE_EPILOG = f"""\
examples:
  bench-compare --local main my-branch --build make --run ./bench --value last-number
  bench-compare --local v1.0 v1.1 v1.2 --build make --run './bench big' -n 10
  bench-compare --local HEAD . --build make --run ./bench      what is not committed yet

{_MEASURING}
exit status:
    0  answered: a difference is proven, or is not
    1  with --fail-on regression: one is worse than the base
    2  the command line is wrong
    3  a revision cannot be tested
    4  the machine or the command failed
  130  interrupted
"""
