/** What is wrong with the room that is left to store in. */
import type { MeshError } from "../../../protocol/errors.ts";
import { decodeHostEntry } from "../../../protocol/host-entry.ts";
import { limits } from "../../../protocol/limits.ts";
import type { Finding } from "../../../protocol/documents/doctor.ts";
import { judgeStorageLeft, type StorageLeft, storageText } from "../../../protocol/storage.ts";
import { accountStorage, isOfServer, readCapacities } from "../../nats/capacity.ts";
import type { Examination } from "../../nats/examine.ts";
import { capacitiesIn } from "../../nats/server/disk.ts";
import { fine, type Judge, warning, wrong } from "./finding.ts";

/** What can be known from here, and what the hosts know: these have looked for longer, and say how fast it fills. */
export async function storageOf(
  { hosts }: Pick<Examination, "hosts">,
  where: {
    readonly nc: Parameters<typeof readCapacities>[0];
    readonly monitors?: readonly string[] | undefined;
    /** Of an embedded server. */
    readonly serverDir: string | undefined;
  },
): Promise<StorageLeft[]> {
  const { nc, monitors, serverDir } = where;
  const [known, own] = await Promise.all([
    readCapacities(nc, monitors).catch(() => []), // What a server that is silent has is told of elsewhere.
    serverDir === undefined ? [] : capacitiesIn(serverDir).catch(() => []),
  ]);
  const told = (hosts ?? []).flatMap(({ data }) => decodeHostEntry(data)?.storage ?? []);
  const all = [...told, ...[...known, ...own].map((one) => judgeStorageLeft(one))];
  return [...new Map(all.toReversed().map((one) => [one.of, one])).values()].toReversed();
}

export const judgeStorage: Judge = ({ storage }, { full: errors }) => [...full(errors), ...left(storage)];

/** One finding for what has one cause: on a full disk stream after stream fails to write. */
function full(errors: readonly MeshError[]): Finding[] {
  const [first, ...others] = errors;
  if (first === undefined) return [];
  const more =
    others.length === 0
      ? ""
      : `, and ${others.length} other stream${others.length === 1 ? "" : "s"} likewise`;
  return [
    wrong("STORAGE_FULL", `${first.message.replace(/^\[\w+\] /, "")}${more}: every saga waits`, first.remedy),
  ];
}

const remedy =
  "Free space on that disk, or raise that limit (of an account: `max_file`), or move ended sagas to files: `sagamesh archive`. When nothing is left every saga waits.";

function left(storage: readonly StorageLeft[]): Finding[] {
  const findings = storage.map((one) => {
    const what = storageText(one);
    if (one.of === accountStorage && one.leftBytes < limits.inlineBytesMax)
      return wrong("STORAGE_FULL", `the account's limit is reached: ${what}`, remedy);
    if (one.level === "reserved")
      return wrong("STORAGE_LOW", `${what}: hosts refuse starts, and signals from outside`, remedy);
    return one.level === "low" ? warning("STORAGE_LOW", what, remedy) : fine("STORAGE", what);
  });
  if (storage.some(isOfServer)) return findings;
  const unknown =
    "how much the server's disk still takes is not known here: --monitor asks its monitoring endpoint";
  return [...findings, fine("STORAGE", unknown)];
}
