/** Goal: no server below the floor is taken. Method: INFO as servers of several versions send it. */
import { expect, test } from "vitest";
import { isMeshError } from "../../../protocol/errors.ts";
import { checkServerInfo, isNewEnough } from "../../../services/nats/server-check.ts";

const refusal = (info: { version: string; api_lvl?: number }): string | undefined => {
  try {
    checkServerInfo(info);
    return undefined;
  } catch (error) {
    return isMeshError(error) ? error.code : "another error";
  }
};

test("the floor itself and everything newer is accepted", () => {
  for (const version of ["2.14.5", "v2.14.5", "2.14.6", "2.15.0", "2.15.1-1", "3.0.0", "2.100.0"])
    expect(refusal({ version, api_lvl: 4 }), version).toBeUndefined();
});

test("an older version is refused whatever API level it claims", () => {
  for (const version of ["2.14.4", "2.9.10", "2.14.5-RC.1", "1.99.99"])
    expect(refusal({ version, api_lvl: 9 }), version).toBe("SERVER_TOO_OLD");
});

test("an API level below four, or none, is refused whatever the version is", () => {
  expect(refusal({ version: "2.15.1", api_lvl: 3 })).toBe("SERVER_TOO_OLD");
  expect(refusal({ version: "2.15.1" })).toBe("SERVER_TOO_OLD");
});

test("a version that cannot be read is never new enough", () => {
  for (const version of ["", "latest", "2.14", "x2.15.1"]) expect(isNewEnough(version), version).toBe(false);
});
