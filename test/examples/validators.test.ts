/**
 * The page on the validators that come with sagamesh says what they answer.
 *
 * Method: each block of code of the page is run with the names that an application imports, its types taken off; then each line
 * below it is held against the validator's own check.
 */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { PerformContext } from "sagamesh";
import * as validators from "sagamesh/validators";
import type { Validator, ValidatorAnswer, ValidatorMaterial } from "sagamesh/validators";

const page = readFileSync(new URL("validators.md", import.meta.url), "utf8");
const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, block = ""]) => block);

interface Line {
  readonly verdict: string;
  readonly material: ValidatorMaterial;
  readonly rules: readonly string[];
}

/** `// rejects ITEM with MATERIAL for RULE, RULE` */
function lineOf(text: string): Line {
  const [, says = "", item = "", more = "{}", rules = ""] =
    /^\/\/ (accepts|rejects|undecided) (.*?)(?: with (\{.*\}))?(?: for ([\w -]+(?:, [\w -]+)*))?$/.exec(
      text,
    ) ?? [];
  const material = { ...(JSON.parse(more) as object), item: JSON.parse(item) as ValidatorMaterial["item"] };
  return { verdict: says.replace(/s$/, ""), material, rules: rules === "" ? [] : rules.split(", ") };
}

function validatorOf(code: string): Validator {
  const name = /^const (\w+) =/.exec(code)?.[1] ?? "";
  const names = { ...validators, z };
  // Run as it stands on the page: what it may name is what is imported above.
  // eslint-disable-next-line @typescript-eslint/no-implied-eval
  const make = new Function(...Object.keys(names), `${stripTypeScriptTypes(code)}\nreturn ${name};`);
  return make(...Object.values(names)) as Validator;
}

async function judge(validator: Validator, material: ValidatorMaterial): Promise<ValidatorAnswer> {
  const { seen } = validator.given(material);
  return (await validator.check?.body?.perform(seen, {} as PerformContext)) as ValidatorAnswer;
}

describe("the page of validators", () => {
  const cases = blocks.map((block) => {
    const lines = block.trim().split("\n");
    const code = lines.filter((line) => !line.startsWith("//")).join("\n");
    return {
      code,
      called: /= (\w+)\(/.exec(code)?.[1] ?? "",
      lines: lines.filter((line) => line.startsWith("//")),
    };
  });

  test.each(cases)("is right about $called", async ({ code, lines }) => {
    const validator = validatorOf(code);
    expect(lines.length).toBeGreaterThanOrEqual(2);
    for (const text of lines) {
      const { verdict, material, rules } = lineOf(text);
      const answer = await judge(validator, material);
      const told = [...new Set((answer.findings ?? []).map(({ rule }) => rule))].sort();
      expect({ text, verdict: answer.verdict, told }).toEqual({ text, verdict, told: rules.toSorted() });
    }
  });

  test("has one example of each that comes with sagamesh, and of no other", () => {
    const notBuiltIn = ["allOfValidators", "anyOfValidators", "tieredValidators", "validatorsByType"];
    const others = ["defineValidator", "implementCheck", "modelJudge", ...notBuiltIn];
    const builtIn = Object.entries(validators).flatMap(([name, value]) =>
      typeof value === "function" && !others.includes(name) ? [name] : [],
    );
    expect(cases.map(({ called }) => called).sort()).toEqual(builtIn.sort());
    expect(builtIn).toHaveLength(14);
  });
});
