/** The README's code is cut from a file that runs; this holds the two together. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), "utf8");

describe("README.md", () => {
  test("every TypeScript block stands word for word in the example that was named last before it", () => {
    const readme = read("README.md");
    const blocks = [...readme.matchAll(/```ts\n([\s\S]*?)```/g)];
    expect(blocks.length).toBeGreaterThan(0);
    for (const { 1: block = "", index } of blocks) {
      const named = [...readme.slice(0, index).matchAll(/test\/examples\/[\w-]+\.ts/g)].at(-1)?.[0] ?? "";
      expect(read(named)).toContain(block);
    }
  });
});
