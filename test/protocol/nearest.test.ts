/** Goal: a misspelt word is told with the word that was meant, and a strange one with none. Method: pairs. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { didYouMean, nearest } from "../../protocol/nearest.ts";

describe("nearest", () => {
  test.each([
    ["attempts", ["attemptsMax", "backoffMs"], "attemptsMax"],
    ["chrage_card", ["release_room", "charge_card"], "charge_card"],
    ["chargeCard", ["charge_card"], "charge_card"],
    ["forms", ["signals", "forMs"], "forMs"],
    ["signal", ["signals", "forMs"], "signals"],
    ["outputTokensMaxx", ["output", "outputTokensMax"], "outputTokensMax"],
    ["efect", ["name", "effect"], "effect"],
    ["parcel", ["cancel", "parcel_arrived"], "parcel_arrived"],
  ])("%s is taken for one of %j: %s", (word, known, meant) => {
    expect(nearest(word, known)).toBe(meant);
  });

  test.each([
    ["hours", ["signals", "forMs"]],
    ["x", ["y"]],
    ["", ["a"]],
    ["anything", []],
  ])("%s is near to none of %j", (word, known) => {
    expect(nearest(word, known)).toBeUndefined();
    expect(didYouMean(word, known)).toBe("");
  });

  test("a word with one letter changed, left out, added or moved is found among others", () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{6,20}$/),
        fc.nat(),
        fc.constantFrom("leave", "add", "swap", "change"),
        (word, at, how) => {
          const k = at % (word.length - 1);
          const [head, here, next, tail] = [
            word.slice(0, k),
            word[k] ?? "",
            word[k + 1] ?? "",
            word.slice(k + 2),
          ];
          const wrong = {
            leave: head + next + tail,
            add: `${head}${here}q${next}${tail}`,
            swap: head + next + here + tail,
            change: `${head}q${next}${tail}`,
          }[how];
          expect(nearest(wrong, ["0000000000", word, "1111111111111"])).toBe(word);
        },
      ),
    );
  });
});
