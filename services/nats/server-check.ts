/**
 * Which NATS servers sagamesh works with.
 *
 * Owns: the floor by version and by JetStream API level, and the refusal. Does not own: what a server
 * made of a stream's configuration, which is compared where the streams are created. Pure.
 *
 * NK1 A version that cannot be read is refused, never assumed to be new.
 * NK2 A pre-release of the floor is older than the floor.
 */
import { MeshError } from "../../protocol/errors.ts";

/** The oldest nats-server whose schedules, transforms and work queues keep what they promise. */
export const serverVersionFloor = "2.14.5";

/** The JetStream API level of that server. An older level takes new stream options and ignores them. */
export const apiLevelFloor = 4;

/**
 * Refuses a server that is too old, by the INFO it sends on connecting. A server that announces no API
 * level is judged as level 0: levels came with 2.11, so none that is new enough leaves it out.
 *
 * @throws MeshError SERVER_TOO_OLD
 */
export const checkServerInfo = (info: { readonly version: string; readonly api_lvl?: number }): void => {
  if (!isNewEnough(info.version))
    throw new MeshError(
      "SERVER_TOO_OLD",
      `the NATS server is too old: expected ${serverVersionFloor} or newer, got ${info.version || "no version"}`,
    );
  const apiLevel = info.api_lvl ?? 0;
  if (apiLevel < apiLevelFloor)
    throw new MeshError(
      "SERVER_TOO_OLD",
      `the NATS server's JetStream API level is too low: expected ${apiLevelFloor} or higher, got ${apiLevel}` +
        ` (server version ${info.version})`,
      {
        remedy:
          "Enable JetStream on this server or upgrade it; or unset NATS_URL to let sagamesh run its own.",
      },
    );
};

/** True if a version such as `2.15.1` or `v2.14.5` is at or above the floor. */
export const isNewEnough = (version: string): boolean => {
  const got = parseVersion(version);
  const floor = parseVersion(serverVersionFloor);
  if (got === undefined || floor === undefined) return false; // NK1
  for (const part of ["major", "minor", "patch"] as const)
    if (got[part] !== floor[part]) return got[part] > floor[part];
  return !got.isPreRelease; // NK2
};

const parseVersion = (version: string) => {
  const match = /^v?(\d+)\.(\d+)\.(\d+)(-\S+)?/.exec(version.trim());
  if (match === null) return undefined;
  const [, major, minor, patch, preRelease] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    isPreRelease: preRelease !== undefined,
  };
};
