/** Stdin: all of it, up to the size of a message. */
import { MeshError } from "../../../protocol/errors.ts";

const bytesMax = 64 * 1024 * 1024;

export async function readStdin(signal: AbortSignal): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > bytesMax) throw new MeshError("TOO_LARGE", `stdin holds more than ${bytesMax} bytes`);
  }
  return Buffer.concat(chunks);
}
