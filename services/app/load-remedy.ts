/**
 * Load remedy: what helps where Node cannot load a file of an author's, of which Node itself says little.
 */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describeError } from "../../protocol/errors.ts";

/** The way out, by what Node threw when it loaded the file or one that it imports. */
export function loadRemedy(file: string, error: unknown): string {
  const { code = "", url } = (typeof error === "object" && error !== null ? error : {}) as {
    code?: string;
    url?: string;
  };
  const said = describeError(error);
  if (code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX")
    return "Node runs TypeScript whose types can be left out: write enums as `const X = { … } as const`, parameter properties as fields, or name the compiled JavaScript.";
  if (code === "ERR_MODULE_NOT_FOUND" && url !== undefined)
    return "Node finds a module by its whole name: write ./file.ts, not ./file.";
  if (code === "ERR_MODULE_NOT_FOUND")
    return "Install what the file imports where the file lies: npm install.";
  const folder = commonJsFolder(file);
  const asModule =
    folder === undefined
      ? undefined
      : `The package.json of ${folder} says "type": "commonjs", so Node takes no \`import\` there: npm pkg set type=module`;
  if (asModule !== undefined && /outside a module|Unexpected token 'export'|is not defined/.test(said))
    return `${asModule}.`;
  if (/does not provide an export named/.test(said))
    return `${asModule === undefined ? "" : `${asModule}. Else: `}What is a type only is imported as one: import { type Name } from …; Node leaves types out file by file.`;
  return "Correct the file; `node FILE` shows the whole error.";
}

/** The nearest folder above the file with a package.json, if that makes its modules CommonJS as `npm init` does. */
function commonJsFolder(file: string): string | undefined {
  for (let folder = dirname(resolve(file)); ; folder = dirname(folder)) {
    const path = join(folder, "package.json");
    if (existsSync(path))
      return /"type"\s*:\s*"commonjs"/.test(readFileSync(path, "utf8")) ? folder : undefined;
    if (folder === dirname(folder)) return undefined;
  }
}
