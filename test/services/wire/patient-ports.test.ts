/**
 * Patient ports: a read in the middle of an election is answered when it is over, and a write is sent once.
 */
import { expect, test } from "vitest";
import { MeshError } from "../../../protocol/errors.ts";
import { createMemoryMesh } from "../../../services/memory/mesh.ts";
import { withPatientReads } from "../../../services/wire/patient-ports.ts";
import { bytes, codeOf, sagaId } from "../../contract/mesh-under-test.ts";

const saga = sagaId("s1");

function electing(failures: number) {
  const mesh = createMemoryMesh({ seed: 1, replicas: 3 });
  const { ports, clock } = mesh.spawn("client");
  let asked = 0;
  const fails =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      asked += 1;
      if (asked <= failures) throw new MeshError("UNAVAILABLE", "an election");
      return call(...args);
    };
  const { ledger } = ports;
  const broken = { ...ports, ledger: { ...ledger, last: fails(ledger.last), append: fails(ledger.append) } };
  return { mesh, ports: withPatientReads(broken, clock), asked: () => asked };
}

test("a read that is not answered is made again until it is", async () => {
  const { mesh, ports, asked } = electing(20);
  expect(await mesh.clock.until(ports.ledger.last(saga))).toBeUndefined();
  expect(asked()).toBe(21);
});

test("a read without any answer is UNAVAILABLE after half a minute", async () => {
  const { mesh, ports } = electing(Number.POSITIVE_INFINITY);
  const begun = mesh.clock.now();
  expect(await codeOf(mesh.clock.until(ports.ledger.last(saga)))).toBe("UNAVAILABLE");
  expect(mesh.clock.now() - begun).toBeGreaterThan(28_000);
});

test("a write is not repeated here: its caller knows whether it may be", async () => {
  const { mesh, ports, asked } = electing(1);
  const message = { data: bytes("{}"), headers: {}, expectedSeq: 0 };
  expect(await codeOf(mesh.clock.until(ports.ledger.append(saga, message)))).toBe("UNAVAILABLE");
  expect(asked()).toBe(1);
});
