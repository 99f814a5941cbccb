/**
 * A nats-server from the project's official release, checked against a checksum kept here.
 *
 * Owns: the pinned version and checksums, the download, the unpacking. Where the checksums come from: for Linux
 * from the official container image of this version, which pins the same archives; for macOS from other public
 * projects that pin them. A wrong one does no harm: the archive is refused and the next way is tried. A platform
 * without a row does not use this way.
 *
 * RL1 An archive is opened only after its checksum was found equal: the pin is the trust, not the connection.
 * RL2 Connecting has a limit of seconds, and so has silence in the middle; a slow download has none.
 */
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { describeError, MeshError } from "../../../protocol/errors.ts";
import { runCommand } from "./command.ts";
import { withProgress } from "../progress.ts";
import type { ServerWay } from "./way.ts";

const version = "2.14.5";
const sha256ByPlatform: Readonly<Record<string, string>> = {
  "linux-amd64": "5e3b603d47c447bda1f77f9ac16dbf91c90aac4ff3681f8fbbc7201e4ed99355",
  "linux-arm64": "673a98d3faa79dde3f9ebf16d6dfac36a5f694e7ad2015e4954dd7939c85cd4c",
  "darwin-amd64": "f95c98d6b6ed2b63c5681b46b092c9585c99767d547cf495730c329234625e96",
  "darwin-arm64": "ddd907854d9a2de834af133fa396915fe6442fe6d8909ae31390d1ea7a0fea50",
};
const releasesUrl = "https://github.com/nats-io/nats-server/releases/download";
const connectTimeoutMs = 5_000;
const silenceTimeoutMs = 20_000;
const unpackTimeoutMs = 60_000;

/** The way for the official archives; the address, the checksum and the platform are arguments for tests. */
export const createReleaseWay = (
  options: { baseUrl?: string; platform?: string; sha256?: string } = {},
): ServerWay => ({
  name: "official release",
  get: async ({ workDir, report, env, signal }) => {
    const platform =
      options.platform ?? `${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
    const sha256 = options.sha256 ?? sha256ByPlatform[platform];
    if (sha256 === undefined)
      throw new MeshError("SERVER_MISSING", `no checksum is pinned for ${platform}`, {
        remedy: "Use another of the ways.",
      });
    const folder = `nats-server-v${version}-${platform}`;
    const archive = join(workDir, "release.tar.gz");
    report(`Downloading the official nats-server ${version} for ${platform}.`);
    const got = await download(
      `${options.baseUrl ?? releasesUrl}/v${version}/${folder}.tar.gz`,
      archive,
      report,
      signal,
    );
    if (got !== sha256)
      // RL1
      throw new MeshError(
        "SERVER_MISSING",
        `the archive's sha256 is not the pinned one: expected ${sha256}, got ${got}`,
        {
          remedy:
            "Something between here and the release changes downloads; find out what before you use any of them.",
        },
      );
    const args = ["-xzf", archive, "-C", workDir, `${folder}/nats-server`];
    await runCommand({ file: "tar", args, env, timeoutMs: unpackTimeoutMs, signal });
    return join(workDir, folder, "nats-server");
  },
});

export const releaseWay: ServerWay = createReleaseWay();

/** Stores what the address serves and gives its sha256. */
const download = async (
  url: string,
  path: string,
  report: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<string> => {
  const limit = new AbortController();
  let timer = setTimeout(
    () => limit.abort(new Error(`no answer within ${connectTimeoutMs / 1000} s`)),
    connectTimeoutMs,
  );
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    const response = await fetch(url, {
      signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
    });
    if (!response.ok || response.body === null) throw new Error(`the answer was ${response.status}`);
    const body = response.body as AsyncIterable<Uint8Array>; // What fetch streams.
    const chunks = async function* () {
      for await (const chunk of body) {
        clearTimeout(timer); // RL2
        timer = setTimeout(() => limit.abort(new Error("the download stood still")), silenceTimeoutMs);
        bytes += chunk.byteLength;
        hash.update(chunk);
        yield chunk;
      }
    };
    const line = (seconds: number) => `  downloaded ${(bytes / 1e6).toFixed(1)} MB: ${seconds} s`;
    await withProgress(report, line, () => pipeline(chunks, createWriteStream(path)));
    return hash.digest("hex");
  } catch (error) {
    signal?.throwIfAborted();
    const reason = limit.signal.aborted ? describeError(limit.signal.reason) : describeFetchError(error);
    throw new MeshError("SERVER_MISSING", `the download failed: ${reason}`, {
      cause: error,
      remedy: "Let this machine reach github.com, or install nats-server yourself.",
    });
  } finally {
    clearTimeout(timer);
  }
};

/** fetch says only "fetch failed"; the reason a person can act on is its cause. */
const describeFetchError = (error: unknown): string =>
  describeError(error instanceof Error && error.cause !== undefined ? error.cause : error);
