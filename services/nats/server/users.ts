/**
 * Users: the processes that use the embedded server of one data folder.
 *
 * Owns: the folder `users`, one empty file a use, and the question which of their processes live. Does not own: what
 * follows when none is left (embedded.ts). A use is told by its file's name alone, so it is there whole or not at
 * all: `<process id>.<its start>.<its space of process ids>.<token>`.
 *
 * US1 A process is known by its id and its start: ids are given anew.
 * US2 Only a process that is known to be gone is passed over. A process in another space of process ids, of a container
 *     that shares the folder, cannot be asked after and counts as living.
 */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { serverFiles } from "./state.ts";

export interface ServerUser {
  /** Takes the use back. May be called again, also when the folder is gone. */
  leave(): Promise<void>;
}

/** Says that this process uses the server of the folder. After a crash its death says that it no longer does. */
export const enterAsUser = async (dataDir: string): Promise<ServerUser> => {
  const { users } = serverFiles(dataDir);
  await mkdir(users, { recursive: true, mode: 0o700 }); // The data folder is there.
  const { pid } = process;
  const name = [pid, (await startOf(pid)) ?? "unknown", await ownSpace(), randomBytes(4).toString("hex")];
  const path = join(users, name.join("."));
  await writeFile(path, "", { mode: 0o600 });
  return { leave: () => rm(path, { force: true }) };
};

/** The files of the processes that may still live (US2), and of those that are gone and did not take their use back. */
export const usersOf = async (dataDir: string): Promise<{ living: string[]; dead: string[] }> => {
  const { users } = serverFiles(dataDir);
  const names = await readdir(users).catch((): string[] => []);
  const space = await ownSpace();
  const lives = await Promise.all(names.map((name) => mayLive(name, space)));
  const paths = names.map((name) => join(users, name));
  return {
    living: paths.filter((_, index) => lives[index] === true),
    dead: paths.filter((_, index) => lives[index] === false),
  };
};

const mayLive = async (name: string, ownSpace: string): Promise<boolean> => {
  const [pid, start, space] = name.split(".");
  return space !== ownSpace || (await startOf(Number(pid))) === start; // US1, US2
};

/** When a process began, in the system's own count; undefined if it is gone, or waits to be taken note of. */
const startOf = async (pid: number): Promise<string | undefined> => {
  if (process.platform !== "linux") return startByPs(pid);
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Behind the program's name, which may hold anything: the state, and as the 20th field the start.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return text === "" || fields[0] === "Z" ? undefined : fields[19];
};

const startByPs = (pid: number): Promise<string | undefined> =>
  new Promise((resolve) => {
    const env = { ...process.env, TZ: "UTC", LC_ALL: "C" }; // Equal words under every user's settings.
    execFile("ps", ["-o", "state=,lstart=", "-p", String(pid)], { env }, (_error, stdout) => {
      const [, state, start] = /^\s*(\S+)\s+(.+?)\s*$/.exec(stdout) ?? [];
      resolve(
        state === undefined || state.startsWith("Z") ? undefined : start?.replaceAll(/[^0-9A-Za-z]/g, "-"),
      );
    });
  });

/** The kernel's number of this process's space of ids; one and the same where there is no such thing. */
const ownSpace = async (): Promise<string> =>
  (await readlink("/proc/self/ns/pid").catch(() => "0")).replaceAll(/\D/g, "");
