/** What is to be said of each of XState's workflow examples: where its machine is, what it is sent, what stands in for the outside. */

/** One of them. */
export interface Example {
  /** The file of its folder that holds the machine. */
  readonly file: string;
  /** Events, and milliseconds that pass; what the file itself sends unless given. */
  readonly path?: readonly ({ readonly type: string; readonly [member: string]: unknown } | number)[];
  /** What passes at the end; 20 s unless given. */
  readonly then?: readonly number[];
  readonly input?: unknown;
  /** In place of bodies that ask a person or a database. */
  readonly bodies?: Readonly<Record<string, (given: { readonly input: unknown }) => Promise<unknown>>>;
  /** Actors that only tick: they wait for ever, and what they would send comes as signals. */
  readonly outside?: readonly string[];
  /** Lines that must be changed, each by a pattern. */
  readonly patch?: readonly (readonly [RegExp, string])[];
}

const main = { file: "main.ts" };
const vitals = { source: "monitoringSource", id: "event1", patientId: "patient1" };

export const examples: Readonly<Record<string, Example>> = {
  "express-workflow": {
    file: "machine.ts",
    path: ["TIMER", "TIMER", "TIMER", "TIMER"].map((type) => ({ type })),
  },
  "mongodb-credit-check-api": {
    file: "machine.ts",
    path: [{ type: "Submit", SSN: "123456789", lastName: "Bauer", firstName: "Gavin" }],
    bodies: {
      verifyCredentials: async () => ({ SSN: "123456789", lastName: "Bauer", firstName: "Gavin" }),
      checkReportsTable: async () => undefined,
      checkBureau: async () => 700,
      determineMiddleScore: async () => 700,
      generateInterestRates: async () => 5,
    },
  },
  "mongodb-persisted-state": {
    file: "donutMachine.ts",
    path: ["NEXT", "NEXT", "NEXT", "MIXED_DRY", "MIXED_WET", "NEXT", "NEXT"].map((type) => ({ type })),
  },
  "workflow-accumulate-room-readings": main,
  "workflow-applicant-request": { ...main, path: [{ type: "Submit" }] },
  "workflow-async-function": main,
  "workflow-async-subflow": { ...main, bodies: { prompt: async () => ({ response: "ana" }) } },
  "workflow-book-lending": main,
  "workflow-car-auction-bids": main,
  "workflow-car-vitals": {
    ...main,
    path: [{ type: "CarTurnedOnEvent" }, 3_000, { type: "CarTurnedOffEvent" }],
    patch: [
      [
        /actions: \(\{ event \}\) => \{\s*console\.log\('Done with vitals check', event\.output\);\s*\},/g,
        "actions: log(({ event }) => ['Done with vitals check', event.output]),",
      ],
    ],
  },
  "workflow-check-inbox": {
    ...main,
    outside: ["schedule"],
    path: [{ type: "reminder" }, { type: "reminder" }],
  },
  "workflow-credit-check": main,
  "workflow-event-based": main,
  "workflow-event-based-service": main,
  "workflow-event-greeting": main,
  "workflow-filling-water": main,
  "workflow-finalize-college-app": main,
  "workflow-greeting": main,
  "workflow-hello": main,
  "workflow-math-problem": main,
  "workflow-media-scanner": {
    file: "src/mediaScannerMachine.ts",
    input: { basePath: "from", destinationPath: "to" },
    path: [{ type: "START_SCAN" }, { type: "START_SCAN" }],
    bodies: {
      scanLibrary: async () => ["a", "b"],
      checkFilePermissions: async () => ({ dirsToEvaluate: ["a"], dirsToReport: ["b"] }),
      evaluateFiles: async () => ({ dirsToMove: ["a"] }),
      moveFiles: async () => undefined,
    },
  },
  "workflow-monitor-job": main,
  "workflow-monitor-patient": {
    ...main,
    path: ["highBodyTemp", "highBloodPressure", "highRespirationRate"].map((type) => ({ type, ...vitals })),
    patch: [[/'org\.monitor\.(\w+)'/g, "'$1'"]],
  },
  "workflow-new-patient-onboarding": main,
  "workflow-parallel": main,
  "workflow-provision-orders": main,
  "workflow-purchase-order-deadline": main,
  "workflow-reusing-functions": {
    ...main,
    patch: [
      [/src: workflow,/g, "src: 'workflow',"],
      [/ {4}onSnapshot: \{[^]*?\n {4}\}\n/g, ""],
      [/,\n {6}entry: sendParent\([^]*?\n {6}\}\)\)/g, ""],
      [
        /actions: \(\{ event \}\) => \{\s*console\.log\('Received event', event\);\s*\}/g,
        "actions: log(({ event }) => event)",
      ],
      [/\n\}\);\n\nconst actor/g, "\n}, { actors: { workflow } });\n\nconst actor"],
      [/sendParent,/g, "log,"],
    ],
  },
  "workflow-send-cloudevent": main,
};
