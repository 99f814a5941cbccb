/**
 * A disk of a few megabytes, which fills up and is freed in milliseconds: a tmpfs of its own. Only root on Linux may mount
 * one; where that cannot be, `whyNoDisk` is the reason with which tests are skipped.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly path: string;
  /** Takes all space but so many bytes. Again: anew. */
  fill(butBytes?: number): Promise<void>;
  free(): Promise<void>;
  /** Takes the disk away with all that is on it. */
  remove(): void;
}

/** `path`: an empty folder; one of its own unless given. */
export function smallDisk(
  megabytes: number,
  path = mkdtempSync(join(tmpdir(), "sagamesh-disk-")),
): SmallDisk {
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], { stdio: "pipe" });
  const ballast = join(path, "ballast");
  const free = () => rm(ballast, { force: true });
  return {
    path,
    free,
    fill: async (butBytes = 0) => {
      for (;;) {
        await free();
        const left = Number(execFileSync("stat", ["-f", "-c", "%a", path])) * 4_096 - butBytes;
        try {
          return await writeFile(ballast, Buffer.alloc(Math.max(0, left)));
        } catch (error) {
          // Others write meanwhile: then the disk is full, which is all that is wanted unless some is to be left.
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
          if (butBytes === 0) return;
        }
      }
    },
    remove: () => {
      execFileSync("umount", ["-l", path]);
      rmdirSync(path);
    },
  };
}

/** Undefined: one can be had here. */
export const whyNoDisk = ((): string | undefined => {
  try {
    smallDisk(1).remove();
    return undefined;
  } catch {
    return "no tmpfs can be mounted here";
  }
})();
