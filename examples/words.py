"""Synthetic text whose distribution is known, for examples/training.py."""
import numpy as np

LETTERS, CONTEXT = 32, 8
SPACE, NOISE = 0, 0.3
CONTEXTS = 4  # Of a corpus.


class Text:
    """Words of two to six letters; what follows a letter is known."""

    def __init__(self, seed, words=400):
        random = np.random.default_rng([1, seed])
        lengths = random.integers(2, 7, words)
        self.words = [random.integers(1, LETTERS, n) for n in lengths]
        self.chance = 1 / np.arange(1, words + 1)
        self.chance /= self.chance.sum()
        # The distribution after each beginning of a word.
        self.after = {}
        for word, chance in zip(self.words, self.chance):
            spelled = [*word.tolist(), SPACE]
            for i, letter in enumerate(spelled):
                row = self.after.setdefault(tuple(spelled[:i]), np.zeros(LETTERS))
                row[letter] += chance
        for row in self.after.values():
            row /= row.sum()

    def letters(self, random, count):
        """Running text and the distribution that each letter was drawn from."""
        letters, truth, prefix = [], [], ()
        while len(letters) < count:
            word = self.words[np.searchsorted(self.chance.cumsum(), random.random())]
            for letter in [*word.tolist(), SPACE]:
                truth.append(self.after[prefix])
                letters.append(letter)
                prefix = () if letter == SPACE else (*prefix, letter)
        return np.array(letters[:count]), np.array(truth[:count])

    def contexts(self, random, count):
        """CONTEXT letters each, the next one, and its distribution."""
        letters, truth = self.letters(random, count + CONTEXT)
        windows = np.lib.stride_tricks.sliding_window_view(letters, CONTEXT)[:count]
        order = random.permutation(count)
        chosen = np.where(random.random(count) < NOISE, random.integers(0, LETTERS, count),
                          letters[CONTEXT:][order])
        return windows[order], chosen, self.noisy(truth[CONTEXT:][order])

    def corpus(self, random, size):
        """A batch of few contexts. Half of what follows each is every letter once,
        the rest is drawn. Its distribution is how often a letter follows."""
        windows, _, truth = self.contexts(random, 1000)
        each = size // CONTEXTS
        chosen = np.array([[*range(LETTERS), *random.choice(LETTERS, each - LETTERS, p=row)]
                           for row in truth[:CONTEXTS]])
        often = np.array([np.bincount(row, minlength=LETTERS) for row in chosen]) / each
        return windows[:CONTEXTS].repeat(each, 0), chosen.reshape(size), often.repeat(each, 0)

    @staticmethod
    def noisy(truth):
        return (1 - NOISE) * truth + NOISE / LETTERS
