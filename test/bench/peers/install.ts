/**
 * Getting peers: each into a folder of its own in the user's cache, with exactly the versions it names. What is there
 * already is not got again; the folder may be deleted at any time.
 */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { cacheFolder } from "../../../services/nats/server/user-folders.ts";
import type { Peer } from "./peer.ts";
import { removeFolder } from "./processes.ts";

const run = promisify(execFile);

export interface Installed {
  readonly folder: string;
  /** What was got, for people. */
  readonly versions: string;
}

export async function installPeer(peer: Peer, say: (text: string) => void): Promise<Installed> {
  const folder = join(cacheFolder(process.env), "peers", peer.name);
  await mkdir(folder, { recursive: true });
  if (peer.packages.length > 0) await installPackages(folder, peer, say);
  const own = await peer.prepare?.(folder, say);
  return { folder, versions: [...peer.packages, ...(own === undefined ? [] : [own])].join(", ") };
}

async function installPackages(
  folder: string,
  { name, packages, instead }: Peer,
  say: (text: string) => void,
): Promise<void> {
  const mark = join(folder, "installed.json");
  const wanted = JSON.stringify({ packages, instead, for: process.versions.modules });
  if ((await readFile(mark, "utf8").catch(() => "")) === wanted) return;
  say(`${name} is got from the package registry`);
  await removeFolder(join(folder, "node_modules"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, overrides: instead }));
  // The Node of this run comes first, for it runs the peers, too.
  const env = {
    ...process.env,
    PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter),
  };
  await run("npm", ["install", "--no-audit", "--no-fund", "--save-exact", ...packages], {
    cwd: folder,
    env,
  });
  await writeFile(mark, wanted);
}
