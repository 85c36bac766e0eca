#!/usr/bin/env python3
"""compare_stats.py - the C arithmetic of the analyses against an independent reference.

usage: compare_stats.py --driver PROGRAM --oracle FILE.py [--series N] [--seed S] [--jobs J]
                        [--rates] [GROUP...]

PROGRAM is build/libanalysis/stats_compare_test; FILE.py is a Python module with the same functions
written independently. N random cases per shape and group are compared field by field: integers and
words exactly, numbers to 1e-9 relative. Exit 0 when all agree, 1 when one does not (the case is
printed), 77 when there is nothing to compare with.

With --rates nothing is compared: N series of every shape, those of the reference's own selftest, are
judged by PROGRAM alone, and the share of true and false alarms is printed.
"""
import argparse
import importlib.util
import json
import math
import multiprocessing
import subprocess
import sys

TOLERANCE = 1e-9
# A golden section on a flat minimum: the position is known to the root of the rounding error.
LOOSE = {"A_pct": 1e-6, "tau": 1e-5, "half_life": 1e-5}


class Mismatch(Exception):
    pass


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "--serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1 << 20)

    def ask(self, word, *values):
        text = [word]
        for value in values:
            if isinstance(value, (list, tuple)):
                text.append(str(len(value)))
                text.extend(repr(v) for v in value)
            else:
                text.append(repr(value))
        self.process.stdin.write(" ".join(text) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise Mismatch("the program ended: status %s" % self.process.wait())
        answer = json.loads(line)
        if "error" in answer:
            raise Mismatch("refused: " + answer["error"])
        return answer


def same(name, expected, found, tolerance=TOLERANCE):
    if expected is None:
        good = found is None or not math.isfinite(found)
    elif isinstance(expected, (str, int)) and not isinstance(expected, bool):
        good = expected == found
    else:
        good = (expected == found or (expected != expected and found != found) or
                abs(expected - found) <= tolerance * max(abs(expected), abs(found)) + 1e-12)
    if not good:
        raise Mismatch("%s: expected %r, found %r" % (name, expected, found))


def same_list(name, expected, found, tolerance=TOLERANCE):
    same(name + " count", len(expected), len(found))
    for i, (e, f) in enumerate(zip(expected, found)):
        same("%s[%d]" % (name, i), e, f, tolerance)


# ---- random cases beyond the reference's own shapes


def mixed_series(o, rng):
    """levels, bumps, spikes, ticks and noise of every kind, 0 to 400 steps"""
    n = rng.below(401) if rng.below(4) else rng.below(24)
    cv = (0.001, 0.01, 0.02, 0.05, 0.15)[rng.below(5)]
    kind = rng.below(4)
    x = []
    ar = 0.0
    for _ in range(n):
        g = rng.gauss()
        if kind == 1:
            g /= math.sqrt((rng.gauss() ** 2 + rng.gauss() ** 2 + 1e-9) / 2.0)
            g = max(-50.0, min(50.0, g))
        if kind == 2:
            ar = 0.6 * ar + 0.8 * g
            g = ar
        x.append(math.exp(cv * g))
    for _ in range(rng.below(5)):
        if n < 2:
            break
        a = rng.below(n)
        length = (1, 2, 3, 6, 20, n)[rng.below(6)]
        factor = (0.7, 0.9, 1.06, 1.2, 1.5, 4.0)[rng.below(6)]
        tau = (0.0, 2.0, 8.0)[rng.below(3)]
        for i in range(a, min(n, a + length)):
            x[i] *= 1 + (factor - 1) * (math.exp(-(i - a) / tau) if tau else 1.0)
    if rng.below(3) == 0:
        period = 4 + rng.below(40)
        for i in range(rng.below(period), n, period):
            x[i] *= 1.3 + rng.unif()
    if rng.below(4) == 0:
        for i in range(n):
            x[i] *= 1 + 0.3 * i / max(1, n)
    if rng.below(4) == 0:
        tick = (0.001, 0.05, 0.5)[rng.below(3)]
        x = [max(1, round(v / tick)) * tick for v in x]
    scale = (1.0, 1e-3, 1e9)[rng.below(3)]
    return [v * scale for v in x]


def some_numbers(rng, n, ties):
    if ties:
        return [float(rng.below(5)) for _ in range(n)]
    return [rng.gauss() for _ in range(n)]


# ---- groups: each compares one random case


def check_steps(o, driver, x):
    expected = o.analyze(x)
    found = driver.ask("steps", x)
    phases = [p for p in expected["phases"]]
    same_list("phases", phases, found["phases"])
    same_list("episodes", [0] * len(expected["episodes"]), [0] * (len(found["episodes"]) - 1))
    if "baseline" in expected:
        same("baseline", expected["baseline"], found["baseline"])
    if "verdict" not in expected:
        same("verdict", "too few steps", found["verdict"])
        for e, f in zip(expected["episodes"], found["episodes"]):
            for key in ("start", "end", "kind", "peak_pct"):
                same(key, e[key], f[key])
        return
    for key in ("baseline_n", "sigma_log", "sigma_base", "acf1", "warmup", "verdict"):
        name = "sigma_base" if key == "sigma_base" else key
        same(key, expected[name], found[key])
    segments = [[s["start"], s["end"], s["median"], s["pct_vs_base"], s["pct_vs_prev"]]
                for s in expected["segments"]]
    same("segments", len(segments), len(found["segments"]))
    for s, f in zip(segments, found["segments"]):
        same_list("segment at %d" % s[0], s, f)
    for e, f in zip(expected["episodes"], found["episodes"]):
        check_episode(e, f)
    drift = expected.get("drift")
    same("drift", bool(drift), "drift" in found)
    if drift:
        same_list("drift", [drift[k] for k in ("per_100_steps", "total", "cost_linear",
                                               "cost_steps")], found["drift"])
    period = expected["period"]
    same("period", period["period"] if period else None, found.get("period"))
    if period:
        same("phase", period["phase"], found["phase"])
        same_list("members", period["members"], found["members"])
        same("coverage", period["coverage"], found["coverage"])
        same("period_p", period["p"], found["period_p"])


def check_episode(e, f):
    at = "episode at %d: " % e["start"]
    for key in ("start", "end", "kind", "sign", "confidence", "peak_step", "peak_pct",
                "median_pct", "excess_time", "p_mwu", "p_method", "cliff", "hl_pct", "hl_lo",
                "hl_hi", "p_window", "n_windows", "p_scan", "regression_end"):
        if key in e:
            same(at + key, e[key], f.get(key))
    if "p_mwu" not in e and "p_mwu" in f:
        raise Mismatch(at + "tested, but expected not to be")
    if "recovered" in e:
        same(at + "recovered", int(e["recovered"]), f["recovered"])
        same(at + "recover_steps", e["recover_steps"], f.get("recover_steps"))
        same(at + "recover_time", e["recover_time"], f.get("recover_time"))
    fit = e.get("fit")
    same(at + "fit", int(bool(fit)), int("tau" in f))
    if fit:
        for key in fit:
            same(at + key, fit[key], f[key], LOOSE.get(key, TOLERANCE))


def group_steps(o, driver, rng, shape):
    x = mixed_series(o, rng) if shape == "mixed" else o.gen(shape, rng)[0]
    check_steps(o, driver, x)


def group_compare(o, driver, rng, shape):
    if shape == "mixed":
        a, b = mixed_series(o, rng), mixed_series(o, rng)
        if not a or not b:
            return
    else:
        a, b = o.gen(shape, rng)[0], o.gen(shape, rng)[0]
        factor = (1.0, 1.03, 1.1, 0.9)[rng.below(4)]
        b = [v * factor for v in b]
        if rng.below(2):
            a, b = a[:1 + rng.below(12)], b[:1 + rng.below(12)]
    raw = rng.below(2) == 1
    expected = o.compare(a, b, reps=30, raw=raw)
    found = driver.ask("compare", a, b, 30, int(raw))
    method = found.pop("method")
    same("method", expected.pop("p_method"),
         "normal, autocorrelation-adjusted" if method == "adjusted" else method)
    for key, low in (("hl_lo", 0.0), ("hl_hi", math.inf)):
        if expected[key] is None:
            expected[key] = low
    for key, value in expected.items():
        same(key, value, found[key])


def group_basics(o, driver, rng, shape):
    n, m = rng.below(30), rng.below(30)
    if rng.below(8) == 0:
        n += rng.below(200)
    a, b = some_numbers(rng, n, rng.below(2)), some_numbers(rng, m, rng.below(2))
    p = rng.unif()
    found = driver.ask("basics", a, p)
    if a:
        for key, value in (("mean", o.mean(a)), ("median", o.median(a)),
                           ("quantile", o.quantile(a, p)), ("mad", o.mad_sigma(a, a[0])),
                           ("variance", o.var1(a))):
            same(key, value, found[key])
    if a and b:
        infl = 1.0 + rng.below(3)
        found = driver.ask("ranks", a, b, infl)
        u, p_two, method, cliff = o.mwu(a, b)
        same("u", u, found["u"])
        same("p", p_two, found["p"])
        same("method", method, found["method"])
        same("cliff", cliff, found["cliff"])
        same("p_greater", o.mwu(a, b, "greater")[1], found["p_greater"])
        for key, value in zip(("hl", "hl_low", "hl_high"), o.hodges_lehmann(a, b, infl=infl)):
            same(key, value, found[key])
    c = some_numbers(rng, n, rng.below(2))
    found = driver.ask("correlation", a, c)
    if a:
        same("rho", o.spearman(a, c), found["rho"])
        same_list("q", o.bh(a), found["q"])
    d, e, f = float(1 + rng.below(60)), float(1 + rng.below(20)), 0.001 + 0.998 * rng.unif()
    found = driver.ask("distributions", d, e, f)
    same("beta", o.betainc(d, e, f), found["beta"])
    same("t_tail", o.t_sf(d - e, e), found["t_tail"])
    same("t_quantile", o.t_quantile(0.5 + f / 2, d), found["t_quantile"])
    same("z", o.norm_ppf(f), found["z"])
    same("tail", o.norm_sf(d - e), found["tail"])
    same("binomial", o.binom_tail(int(d), f, int(e)), found["binomial"])
    seed, below = rng.below(1 << 30), 1 + rng.below(1 << 30)
    found = driver.ask("random", seed, below)
    twin = o.SplitMix64(seed)
    same("u64", twin.u64(), found["u64"])
    same("below", twin.below(below), found["below"])
    same("unit", twin.unif(), found["unit"])


def group_pelt(o, driver, rng, shape):
    """against optimal partitioning without any pruning"""
    n = 1 + rng.below(150)
    kind = rng.below(4)
    y = [rng.gauss() if kind else float(rng.below(3)) for _ in range(n)]
    for _ in range(rng.below(4)):
        a, up = rng.below(n), 3 * rng.gauss()
        for i in range(a, min(n, a + 1 + rng.below(30))):
            y[i] += round(up) if kind == 0 else up
    sigma, beta = 0.5 + rng.unif(), 1.0 + 12 * rng.unif()
    found = driver.ask("pelt", y, sigma, beta)["starts"]
    same_list("starts", o.pelt(y, sigma, beta), found)
    s1, s2 = [0.0], [0.0]
    for v in y:
        t = (v - y[0]) / sigma
        s1.append(s1[-1] + t)
        s2.append(s2[-1] + t * t)
    best = [-beta] + [0.0] * n
    for t in range(1, n + 1):
        best[t] = min(best[s] + s2[t] - s2[s] - (s1[t] - s1[s]) ** 2 / (t - s)
                      for s in range(t)) + beta
    ends = found[1:] + [n]
    cost = sum(s2[b] - s2[a] - (s1[b] - s1[a]) ** 2 / (b - a) for a, b in zip(found, ends))
    same("cost", best[n], cost + beta * (len(found) - 1), 1e-9)


def group_attribute(o, driver, rng, shape):
    n, k = 4 + rng.below(60), 1 + rng.below(6)
    names = ["c%02d" % i for i in range(k)]
    cats = {c: [float(rng.below(3)) if rng.below(9) == 0 else rng.unif() for _ in range(n)]
            for c in names}
    cut = 1 + rng.below(min(n - 2, 12))
    slow, good = list(range(cut)), list(range(cut, n))
    for i in slow:
        cats[names[rng.below(k)]][i] += rng.unif()
    wall = [math.fsum(cats[c][i] for c in names) for i in range(n)]
    expected = o.attribute(cats, wall, slow, good)
    found = driver.ask("attribute", k, *[cats[c] for c in names], wall, good, slow)
    same("delta_wall", expected["delta_wall"], found["delta_wall"])
    same("sum_diff", expected["sum_diff"], found["sum_diff"])
    for e, f in zip(expected["rows"], found["rows"]):
        f["cat"] = names[f["cat"]]
        for key, value in e.items():
            same("%s %s" % (e["cat"], key), value, f[key])


def group_partition(o, driver, rng, shape):
    base = rng.below(1 << 30) << 31
    layers, flat, labels = [], [], 1 + rng.below(9)
    for layer in range(1 + rng.below(4)):
        layers.append([])
        for _ in range(rng.below(30)):
            start = base + rng.below(1000) - 100
            end = start + rng.below(300)
            label = rng.below(labels)
            layers[-1].append((start, end, label))
            flat.extend((layer, start, end, label))
    begin = base + rng.below(200)
    end = begin + rng.below(900)
    expected = o.decompose(begin, end, layers)
    found = driver.ask("partition", begin, end, len(flat) // 4, labels, *flat)
    same_list("sums", [expected.get(i, 0) for i in range(labels)], found["sums"])
    same("gap", expected.get("gap", 0), found["gap"])
    same("total", end - begin, sum(found["sums"]) + found["gap"])
    check_sched(o, driver, rng)


STATES = {"R": (1, "RQ"), "S": (2, "S"), "D": (3, "D"), "T": (4, "T"), "I": (7, "I")}
STATE_NUMBERS = {"RUN": 0, "RQ": 1, "S": 2, "D": 3, "T": 4, "I": 7}


def check_sched(o, driver, rng):
    t, events, flat = rng.below(50), [], []
    for _ in range(rng.below(40)):
        kind = ("in", "out", "wake")[rng.below(3)]
        cpu = rng.below(3)
        state = "RSDTI"[rng.below(5)]
        events.append((t, kind, state if kind == "out" else cpu))
        flat.extend((t, ("in", "out", "wake").index(kind), cpu, STATES[state][0]))
        t += rng.below(40)
    runs, run_flat = {}, []
    for _ in range(rng.below(20)):
        cpu, start, label = rng.below(3), rng.below(700), rng.below(8)
        end = start + rng.below(90)
        runs.setdefault(cpu, []).append((start, end, label))
        run_flat.extend((cpu, start, end, label))
    t += rng.below(20)
    expected = o.sched_states(events, 0, t)
    found = driver.ask("sched", 0, t, len(flat) // 4, *flat, len(run_flat) // 4, *run_flat)
    flattened = [(a, b, STATE_NUMBERS[s], -1 if c is None else c) for a, b, s, c in expected]
    same("states", repr(flattened), repr([tuple(v) for v in found["states"]]))
    stolen = o.steal([(a, b, c) for a, b, s, c in expected if s == "RQ"], runs)
    same_list("stolen", [stolen.get(i, 0) for i in range(8)], found["sums"])


def disjoint(rng, begin, end, gap, length):
    out, t = [], begin
    while True:
        a = t + rng.below(gap)
        b = a + 1 + rng.below(length)
        if b > end:
            return out
        out.append((a, b))
        t = b


def group_association(o, driver, rng, shape):
    n = 1 + rng.below(80)
    a, x = some_numbers(rng, n, rng.below(2)), some_numbers(rng, n, rng.below(2))
    if n >= 2:
        found = driver.ask("circular", a, x)
        rho = o.spearman(a, x)
        same("rho", rho, found["rho"])
        same("p_circular", o.circ_p(o.spearman_fast(x), a, x, rho), found["p"])
    strata = [rng.below(1 + n // 4) for _ in range(n)]
    expected = o.stratified_rank(a, x, strata, 199)
    found = driver.ask("strata", a, x, strata)
    same("strata", expected["strata"] if expected else 0, found["strata"])
    if expected:
        for key, value in expected.items():
            same("stratified " + key, value, found[key])
    steps, t = [], 0
    for _ in range(1 + rng.below(8)):
        t += rng.below(300)
        steps.append((t, t + 1000 + rng.below(100000)))
        t = steps[-1][1]
    stalls = disjoint(rng, 0, t + 500, 30000, 9000)
    acts = disjoint(rng, 0, t + 500, 20000, 12000)
    flat = [[v for s in spans for v in s] for spans in (steps, stalls, acts)]
    # The reference's tolerance for ties, 1e-12, is meant for seconds.
    seconds = [[(a * 1e-9, b * 1e-9) for a, b in spans] for spans in (steps, stalls, acts)]
    expected = o.overlap_test(*seconds, 99)
    found = driver.ask("overlap", *flat)
    for key, value in expected.items():
        unit = 1e9 if key in ("overlap", "expected") else 1.0
        same("overlap " + key, value * unit, found[key], 1e-8)
    x = [math.exp(0.1 * rng.gauss()) for _ in range(60)]
    events = sorted({rng.below(60) for _ in range(rng.below(8))})
    base = o.median(x)
    expected = o.epoch_fold(x, events, base=base, reps=100)
    found = driver.ask("epochs", x, events, base)["rows"][:-1]
    same("epochs", len(expected), len(found))
    for e, f in zip(expected, found):
        for key, value in e.items():
            same("epoch %d %s" % (e["offset"], key), value, f[key])


THP_KINDS = ("causal", "confounded", "slow_only", "activity_only", "partial")


def group_thp(o, driver, rng, shape):
    x, act, direct, steal, lock, ckpt = o.gen_thp(THP_KINDS[rng.below(5)], rng)
    if rng.below(8) == 0:
        x = o.gen("flat_gauss", rng)[0][:len(x)]
        act, direct, steal, lock, ckpt = ([0.0] * len(x) for _ in range(5))
    names = [k for k in ("act", "direct", "steal", "lock") if rng.below(3)]
    zero = [0.0] * len(x)
    direct, steal, lock = (v if k in names else zero for k, v in
                           (("direct", direct), ("steal", steal), ("lock", lock)))
    if rng.below(3) == 0:
        act = [v if v > 0.0006 else 0.0 for v in act]
    ckpt = [int(v) for v in ckpt]
    expected = o.thp(x, act, direct, steal, lock, ckpt, tuple(names))
    sees = sum(1 << i for i, k in enumerate(("act", "direct", "steal", "lock")) if k in names)
    found = driver.ask("thp", sees, x, act, direct, steal, lock, ckpt)
    verdict = expected["verdict"]
    if verdict.startswith("not supported: explains"):
        verdict = "not supported: explains little"
    elif verdict.startswith("possible"):
        verdict = "possible: correlated, mechanism not observable"
    elif verdict.startswith("undecided"):
        verdict = "undecided: correlated, but a common cause explains it as well"
    same("verdict", verdict, found["verdict"])
    for key in ("slow", "base", "baseline", "excess", "explained", "share", "share_lo", "share_hi",
                "rho", "p_rho", "lag_best"):
        if key in expected:
            same(key, expected[key], found[key])
    if "lags" not in expected:
        return
    same("parts", expected["explained"], found["parts"], 1e-7)
    same_list("lags", [expected["lags"][k] for k in range(-5, 6)], found["lags"])
    within = expected.get("within_offset")
    same("strata", within["strata"] if within else 0, found["within_offset"]["strata"])
    if within:
        for key, value in within.items():
            same("within offset " + key, value, found["within_offset"][key])
    dose = expected.get("with_without")
    same("dose", int(bool(dose)), int("dose_p" in found))
    if dose:
        for key, value in dose.items():
            same("dose " + key, value, found["dose_" + key])


def group_latency(o, driver, rng, shape):
    n = rng.below(20) if rng.below(6) == 0 else 20 + rng.below(3000)
    modes = [(10.0 ** (-7 + 6 * rng.unif()), 0.05 + rng.unif(), rng.unif()) for _ in
             range(1 + rng.below(4))]
    total = sum(m[2] for m in modes)
    calls = []
    for _ in range(n):
        u = rng.unif() * total
        for centre, width, weight in modes:
            u -= weight
            if u <= 0:
                break
        calls.append(centre * math.exp(width * rng.gauss()))
    ns = [max(1, int(round(v * 1e9))) for v in calls]
    found = driver.ask("latency", ns)
    same("modes", repr([list(m) for m in o.latency_modes(ns)]), repr(found["modes"]))
    histogram = o.log2_hist(ns)
    same_list("histogram", [histogram.get(k, 0) for k in range(64)], found["histogram"])
    if ns:
        same_list("quantiles", [float(o.quantile(ns, p)) for p in (.5, .9, .99, .999, 1.0)],
                  found["quantiles"])
    if n >= 20:
        same("threshold", o.syscall_threshold(calls) * 1e9, found["threshold"])
    else:
        same("threshold", max([1e6] + [10.0 * v for v in ns]), found["threshold"])


GROUPS = {
    "steps": (group_steps, True),
    "compare": (group_compare, True),
    "basics": (group_basics, False),
    "pelt": (group_pelt, False),
    "attribute": (group_attribute, False),
    "partition": (group_partition, False),
    "association": (group_association, False),
    "thp": (group_thp, False),
    "latency": (group_latency, False),
}


# cases per series asked for; the reference needs a fifth of a second for one of thp
MIXED = {"steps": 4, "compare": 4, "thp": 2}


def load(path):
    spec = importlib.util.spec_from_file_location("reference", path)
    module = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(module)
    return module


def run(task):
    """compares `count` cases of one shape of one group; returns (task, done, what went wrong)"""
    args, group, shape, count = task
    o = load(args.oracle)
    driver = Driver(args.driver)
    for i in range(count):
        seed = args.seed + i
        salt = sum(ord(c) << (k % 24) for k, c in enumerate(group + shape))
        try:
            GROUPS[group][0](o, driver, o.SplitMix64(seed * 1000003 + salt), shape)
        except Mismatch as e:
            return group, shape, i, "seed %d: %s" % (seed, e)
    driver.process.stdin.close()
    driver.process.wait()
    return group, shape, count, None


def as_reference(found):
    """an answer in the reference's own form, as far as its judge looks"""
    episodes = found["episodes"][:-1]
    return {"episodes": episodes, "drift": found.get("drift"), "warmup": found["warmup"],
            "period": {"period": found["period"]} if "period" in found else None}


def rates(task):
    args, _, shape, count = task
    o = load(args.oracle)
    driver = Driver(args.driver)
    rng = o.SplitMix64(0xC0FFEE ^ sum(ord(c) << (i % 40) for i, c in enumerate(shape)))
    seen = {}
    for _ in range(count):
        x, truth = o.gen(shape, rng)
        judged = o.judge(shape, x, truth, as_reference(driver.ask("steps", x)))
        for key, value in judged.items():
            if key not in ("err", "rec_err"):
                seen.setdefault(key, []).append(bool(value))
    share = {k: 100.0 * sum(v) / (len(v) if k == "end_ok" else count) for k, v in seen.items()}
    return shape, "  ".join("%s=%.1f" % kv for kv in sorted(share.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--driver", required=True)
    parser.add_argument("--oracle", required=True)
    parser.add_argument("--series", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=min(2, multiprocessing.cpu_count()))
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("groups", nargs="*")
    args = parser.parse_args()
    for group in args.groups:
        if group not in GROUPS:
            parser.error("no group %s; there are: %s" % (group, " ".join(GROUPS)))
    try:
        o = load(args.oracle)
    except OSError as e:
        print("nothing to compare with: %s" % e)
        return 77
    if args.rates:
        with multiprocessing.Pool(args.jobs) as pool:
            tasks = [(args, "steps", s, args.series) for s in o.NULLS + o.ALTS]
            for shape, text in pool.imap(rates, tasks):
                print("shape %-18s %s" % (shape, text), flush=True)
        return 0
    tasks = []
    for group in args.groups or GROUPS:
        shapes = o.NULLS + o.ALTS if GROUPS[group][1] else []
        tasks += [(args, group, s, args.series) for s in shapes]
        tasks.append((args, group, "mixed", args.series * MIXED.get(group, 10)))
    bad = done = 0
    with multiprocessing.Pool(args.jobs) as pool:
        for group, shape, count, why in pool.imap_unordered(run, tasks):
            done += count
            if why:
                bad += 1
                print("%s %s: %s" % (group, shape, why), flush=True)
    print("%s: %d cases agree, %d shapes do not" % (" ".join(args.groups or GROUPS), done, bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
