/**
 * Long first: the order in which the files of a run begin. One that takes minutes and begins last is waited for while the other
 * workers stand still; begun first, it costs nothing.
 *
 * Vitest knows how long files took where it ran them before, and goes by their sizes where it did not: on a fresh checkout, as
 * `.ci/run` has it. The list is of what takes long there; a file that is missing in it, or too many, costs time and nothing else.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files of more than twenty seconds in `npm run test:e2e`, then of more than ten in `npm test`; the longest first. */
const longest = [
  "test/simulation/planted-faults.e2e.test.ts",
  "test/end-to-end/pack.test.ts",
  "test/rolling/rolling.e2e.test.ts",
  "test/simulation/simulation.walk.test.ts",
  "test/end-to-end/console.test.ts",
  "test/end-to-end/cluster.test.ts",
  "test/services/runtime/doctor.e2e.test.ts",
  "test/services/nats/nats-cli.e2e.test.ts",
  "test/end-to-end/kill-boundaries.test.ts",
  "test/end-to-end/demo.test.ts",
  "test/actors/workflow/planted.e2e.test.ts",
  "test/services/host/values.walk.test.ts",
  "test/services/host/long-agent.walk.test.ts",
  "test/services/tables/keep.e2e.test.ts",
  "test/end-to-end/poison.test.ts",
  "test/services/sandbox/sandbox.e2e.test.ts",
  "test/end-to-end/approvals.test.ts",
  "test/end-to-end/console-killed.test.ts",
  "test/end-to-end/gateway.test.ts",
  "test/services/schedules/schedules.e2e.test.ts",
  "test/end-to-end/hosts.test.ts",
  "test/services/runtime/health/health.e2e.test.ts",
  "test/services/replay/zero-divergence.walk.test.ts",
  "test/end-to-end/patterns.test.ts",
  "test/end-to-end/console-many.test.ts",
  "test/services/tables/postgres.e2e.test.ts",
  "test/end-to-end/console-all.test.ts",
  "test/end-to-end/plan.test.ts",
  "test/end-to-end/archive.test.ts",
  "test/model/model.e2e.test.ts",
  "test/end-to-end/console-mesh.test.ts",
  "test/actors/kernel/many.e2e.test.ts",
  "test/end-to-end/deployments.test.ts",
  "test/end-to-end/lost-server.test.ts",
  "test/services/host/long-saga.walk.test.ts",
  "test/services/testing/crash-matrix.e2e.test.ts",
  "test/end-to-end/full-disk-cluster.test.ts",
  "test/services/nats/ports.test.ts",
  "test/services/perform/effects.test.ts",
  "test/examples/realm/app.test.ts",
  "test/actors/kernel/many.test.ts",
  "test/services/ledger/account.test.ts",
  "test/actors/kernel/properties.test.ts",
  "test/services/host/signals.test.ts",
  "test/services/cli/cli.test.ts",
  "test/services/schedules/schedules.test.ts",
  "test/services/views/by-pages.test.ts",
  "test/services/host/migrate.test.ts",
  "test/services/ledger/forgetting.test.ts",
  "test/services/host/handover.test.ts",
  "test/services/replay/by-pages.test.ts",
  "test/services/throttle/bounds.test.ts",
];

/** Files of processes of their own before those that share them, as the pool needs it; of each the longest first. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const place = ({ moduleId, project }: TestSpecification) => {
      const known = longest.indexOf(relative(project.config.root, moduleId));
      return known === -1 ? longest.length : known;
    };
    const shares = ({ project }: TestSpecification) => Number(!project.config.isolate);
    return sorted.toSorted((a, b) => shares(a) - shares(b) || place(a) - place(b));
  }
}
