/**
 * The package as others get it: packed, and installed in a folder of its own. Nothing of this repository's sources is on
 * the way there.
 */
import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the environment is without the caller's mesh, and without a condition that names sources. */
const { NODE_OPTIONS: _options, NATS_URL: _url, SAGAMESH_DATA: _data, ...inherited } = process.env;
export const packedEnv: NodeJS.ProcessEnv = {
  ...inherited,
  PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter), // The Node of this run, first.
  npm_config_update_notifier: "false",
};

/** Packs this repository and installs it in the folder, in about a minute. Resolves to the path of its command's entry. */
export async function installPacked(folder: string): Promise<string> {
  const env = packedEnv;
  await run("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: root, env });
  const [tarball = ""] = (await readdir(folder)).filter((name) => name.endsWith(".tgz"));
  const manifest = { name: "somebody-else", private: true, type: "module" };
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest));
  const install = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await run("npm", [...install, `./${tarball}`], { cwd: folder, env });
  return join(folder, "node_modules", "sagamesh", "dist", "services", "cli", "main.js");
}
