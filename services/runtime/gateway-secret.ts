/**
 * Gateway secret: what links are signed with where none is configured, and where they lead.
 *
 * GX1 Only on an embedded server, whose processes share a folder of one user: made once, readable by that user alone,
 *     and never changed. Elsewhere all who sign or verify must be given the same one.
 */
import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describeError, MeshError } from "../../protocol/errors.ts";
import { makeFolder } from "../nats/server/user-folders.ts";
import type { Config, GatewayConfig } from "./config.ts";

/** The gateway's configuration with a secret, where there is a gateway and one can be had. Throws UNAVAILABLE. */
export async function openGatewayConfig({
  gateway,
  servers,
}: Pick<Config, "gateway" | "servers">): Promise<GatewayConfig> {
  if (gateway.url === undefined || gateway.secrets.length > 0 || servers !== undefined) return gateway;
  return { ...gateway, secrets: [await ownSecret(gateway.folder)] };
}

/** The folder's secret, made by the process that asks first. Throws UNAVAILABLE. */
export async function ownSecret(folder: string): Promise<string> {
  const file = join(folder, "secret");
  const found = await readSecret(file);
  if (found !== undefined) return found;
  await makeFolder(folder, { code: "UNAVAILABLE", variable: "SAGAMESH_DATA" });
  // Whole before it has its name: another process must never read half of it.
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    await writeFile(draft, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
    await link(draft, file).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    });
  } catch (error) {
    throw new MeshError("UNAVAILABLE", `the gateway's secret cannot be stored: ${describeError(error)}`, {
      cause: error,
      remedy: "Set SAGAMESH_DATA to a folder that this user may write to, or name a SAGAMESH_GATEWAY_SECRET.",
    });
  } finally {
    await rm(draft, { force: true });
  }
  const made = await readSecret(file);
  if (made === undefined)
    throw new MeshError("UNAVAILABLE", "the gateway's secret was taken away while it was made");
  return made;
}

/** Where the gateway of `up` on this folder listens, or listened last; undefined if there was none. */
export async function ownUrl(folder: string): Promise<string | undefined> {
  const port = Number.parseInt(await readFile(join(folder, portFile), "utf8").catch(() => "0"), 10);
  return port > 0 && port <= 65_535 ? `http://127.0.0.1:${port}` : undefined;
}

export const portFile = "port";

async function readSecret(file: string): Promise<string | undefined> {
  try {
    const secret = (await readFile(file, "utf8")).trim();
    if (secret.length < 32)
      throw new MeshError("UNAVAILABLE", `the gateway's secret in ${file} is not whole`, {
        remedy: "Take the file away: a new one is made, and links of the old one are refused.",
      });
    await chmod(file, 0o600); // A copy of the folder may have lost it.
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
