/** What a file of tests has for itself: there before its first test, gone after its last. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { type AccountServer, startAccountServer } from "./real-mesh.ts";

/** A server whose accounts nobody else uses, and a folder; both are there from the first test on. */
export interface OwnOfFile {
  readonly server: AccountServer;
  readonly folder: string;
}

/** For the file that calls this at its top. `name` is part of the folder's. */
export function ownOfFile(name: string, accounts?: number): OwnOfFile {
  let server: AccountServer;
  let folder: string;
  beforeAll(async () => {
    server = await startAccountServer(accounts);
    folder = await mkdtemp(join(tmpdir(), `sagamesh-${name}-`));
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    get server() {
      return server;
    },
    get folder() {
      return folder;
    },
  };
}
