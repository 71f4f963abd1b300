"""# Streaming speech

Where in a sound does someone speak? [Silero VAD](https://github.com/snakers4/silero-vad) says so of 32 milliseconds at a time: each step gets
512 samples, the 64 before them, and the state of the step before (an LSTM's), and gives a probability and the next state.

The engine is prepared once: a sound's samples go to one address, and the state has two, which are input and output in turn, so that it is never
copied. What a step costs is what its computation costs.

Sound is made here: vowels, buzzes of a voice through the resonances of a throat, in syllables; between them noise alone. Every probability and
the last state have to agree with ONNX Runtime's, which carries the state over by itself.

**What to look at:** the probability rises and falls with the voice, though the noise is there all the time; a step takes a small part of the 32 ms
that it is of.

Needs the package `silero-vad` (its files alone: `pip install --no-deps silero-vad==6.2.3`).
"""
import importlib.util
import time

import numpy as np

import common
import wootz

RATE, CHUNK, BEFORE, STATE = 16000, 512, 64, (2, 1, 128)
VOWELS = ((730, 1090, 2440), (270, 2290, 3010), (530, 1840, 2480), (570, 840, 2410), (440, 1020, 2240))  # resonances, in Hz
PHRASES = ((0.9, 2.3), (3.2, 5.0), (6.4, 7.1))  # seconds from and to


def vowel(buzz, resonances):
    """A buzz through resonances, as a cascade of filters by their impulse responses."""
    at = np.arange(800) / RATE
    for i, frequency in enumerate(resonances):
        response = np.exp(-np.pi * (80 + 30 * i) * at) * np.sin(2 * np.pi * frequency * at)
        size = len(buzz) + len(response)
        buzz = np.fft.irfft(np.fft.rfft(buzz, size) * np.fft.rfft(response, size), size)[: len(buzz)]
    return buzz / np.abs(buzz).max()


def sound(seconds, phrases):
    """Samples, and for each whether there is a voice."""
    random = np.random.default_rng(3)
    samples, voiced = 0.003 * random.standard_normal(int(seconds * RATE)), np.zeros(int(seconds * RATE), bool)
    for begin, end in phrases:
        first, count = int(begin * RATE), int((min(end, seconds) - begin) * RATE)
        if count <= 0:
            continue
        t = np.arange(count) / RATE
        pitch = 120 + 18 * np.sin(2 * np.pi * 0.7 * t) - 12 * t + 3 * np.sin(2 * np.pi * 5 * t)
        phase = np.cumsum(pitch) / RATE
        buzz = np.diff(np.floor(phase), prepend=0) + 0.02 * random.standard_normal(count)
        syllable = (4.2 * t).astype(int)
        loud = np.sin(np.pi * (4.2 * t - syllable)) ** 0.5
        voice = sum(np.where(syllable % len(VOWELS) == v, vowel(buzz, r), 0) for v, r in enumerate(VOWELS))
        samples[first: first + count] += 0.3 * loud * voice
        voiced[first: first + count] = True
    return samples.astype(np.float32), voiced


def chunks_of(samples):
    """What each step gets: its samples after the last ones of the step before."""
    padded = np.concatenate([np.zeros(BEFORE, np.float32), samples])
    return [padded[None, i : i + BEFORE + CHUNK] for i in range(0, len(samples) - CHUNK + 1, CHUNK)]


class Listener:
    """A stream of sound. The state stays where the engine left it."""

    def __init__(self, engine):
        self.engine, self.context = engine, engine.create_execution_context()
        self.samples, self.probability = wootz.DeviceMemory(engine, 4 * (BEFORE + CHUNK)), wootz.DeviceMemory(engine, 4)
        self.states = [wootz.to_device(engine, np.zeros(STATE, np.float32)) for _ in range(2)]
        self.context.set_tensor_address("input", self.samples)
        self.context.set_tensor_address("output", self.probability)

    def step(self, chunk):
        self.samples.write(chunk)
        self.context.set_tensor_address("state", self.states[0])
        self.context.set_tensor_address("stateN", self.states[1])
        common.expect(self.context.execute_async_v3(0), "the step runs")
        self.engine.synchronize()
        self.states.reverse()
        return float(self.probability.read(np.float32, (1, 1))[0, 0])

    def state(self):
        return self.states[0].read(np.float32, STATE)


def listened(step, chunks):
    """Probabilities, and the milliseconds of each step."""
    probabilities, times = [], []
    for chunk in chunks:
        began = time.perf_counter()
        probabilities.append(step(chunk))
        times.append((time.perf_counter() - began) * 1e3)
    return np.array(probabilities), np.array(times)


class Theirs:
    """The same by ONNX Runtime."""

    def __init__(self, model):
        self.session, self.state = common.onnxruntime_session(model, threads=1), np.zeros(STATE, np.float32)

    def step(self, chunk):
        probability, self.state = self.session.run(["output", "stateN"], {"input": chunk, "state": self.state})
        return float(probability[0, 0])


def picture(samples, voiced, probabilities, path):
    page, seconds = common.Picture(1000, 480), len(samples) / RATE
    wave = common.Plot(page, (80, 50, 880, 130), (0, seconds), (-1, 1), "Sound", "", "")
    for begin, end in np.flatnonzero(np.diff(np.pad(voiced, 1).astype(int))).reshape(-1, 2) / RATE:
        left, top = wave.at(begin, 1)
        right, bottom = wave.at(end, -1)
        page.rect(left, top, right - left, bottom - top, "c2", opacity=0.15)
    parts = np.array_split(samples / np.abs(samples).max(), 880)
    at = np.linspace(0, seconds, len(parts))
    wave.curve(np.repeat(at, 2), np.ravel([(p.min(), p.max()) for p in parts]), 4)
    wave.label("with a voice", 2)
    plot = common.Plot(page, (80, 250, 880, 170), (0, seconds), (0, 1), "Probability that it is speech", "seconds")
    plot.curve((np.arange(len(probabilities)) + 0.5) * CHUNK / RATE, probabilities, 0)
    page.save(path)


def main():
    chosen = common.arguments()
    if importlib.util.find_spec("silero_vad") is None:
        print("skipped: the package silero_vad is not installed")
        return
    model = (common.package("silero_vad") / "data/silero_vad_openvino_16k.onnx").read_bytes()
    samples, voiced = sound(4 if chosen.quick else 8, PHRASES)
    chunks = chunks_of(samples)
    listener, theirs = Listener(common.load(wootz.build(model, options=chosen.options))), Theirs(model)
    ours, times = listened(listener.step, chunks)
    wanted, other_times = listened(theirs.step, chunks)
    tolerance = 1e-3 if chosen.backend == "cpu" else 2e-2  # what a step gets wrong goes into the next one
    apart = common.agree(ours, wanted, "probabilities", tolerance)
    common.agree(listener.state(), theirs.state, "the last state", tolerance)
    middle = voiced[CHUNK // 2:: CHUNK][: len(ours)]
    common.expect(ours[middle].mean() > 0.5 > ours[~middle].mean(), "the voice is heard")
    print(f"{len(chunks)} steps of 32 ms: {np.median(times):.3f} ms each, by ONNX Runtime {np.median(other_times):.3f}; probabilities differ by {apart:.1g}")
    print(f"on average {ours[middle].mean():.2f} with a voice, {ours[~middle].mean():.2f} without")
    picture(samples, voiced, ours, chosen.out / "speech.svg")


if __name__ == "__main__":
    main()
