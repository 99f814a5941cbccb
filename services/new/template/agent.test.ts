/**
 * Tests of the agent on a mesh in memory: no server, and days cost nothing. `npm test` runs them with Node's own runner.
 */
import assert from "node:assert/strict";
import { devNull } from "node:os";
import { test } from "node:test";
import { crashMatrix, testMesh } from "sagamesh/testing";
import { returnsClerk } from "./agent.ts";
import app from "./app.ts";
import { refund } from "./tools.ts";

process.env["BANK"] = devNull;

test("a small refund is paid at once", async () => {
  await using mesh = testMesh(app);
  const saga = await mesh.start(returnsClerk, { order: "o-1" });
  const end = await saga.result();
  assert.ok(end.status === "completed");
  assert.deepEqual(end.output, { refundedCents: 4_500, note: "refunded" });
});

test("a large refund is paid when the team lead says yes, and not before", async () => {
  await using mesh = testMesh(app);
  const saga = await mesh.start(returnsClerk, { order: "o-2" }, { id: "big" });
  const [task] = await mesh.tasks();
  assert.ok(task);
  assert.equal(mesh.effects(refund).length, 0);
  await mesh.vote(task, { vote: "approve", by: "ana", as: "team_lead" });
  assert.equal((await saga.result()).status, "completed");
  assert.equal(mesh.effects(refund).length, 1);
});

test("goods that must come back are refunded when the parcel arrives, days later", async () => {
  await using mesh = testMesh(app);
  const saga = await mesh.start(returnsClerk, { order: "o-3" });
  await mesh.advance("9d");
  assert.equal(mesh.effects(refund).length, 0);
  await saga.signal("parcel_arrived", { parcel: "p-7" });
  const end = await saga.result();
  assert.ok(end.status === "completed");
  assert.deepEqual(end.output, { refundedCents: 6_000, note: "refunded" });
});

test("wherever a host or a worker dies, nothing is paid twice", async () => {
  const report = await crashMatrix(app, async (mesh) => {
    const saga = await mesh.start(returnsClerk, { order: "o-1" }, { id: "one" });
    return (await saga.result({ within: "1d" })).status;
  });
  assert.ok(report.rows.length > 10);
  assert.deepEqual(report.faults, [], report.text);
});
