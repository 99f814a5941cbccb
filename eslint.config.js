// Lint: the rules that find bugs. Layout belongs to prettier, imports between folders to dependency-cruiser.
//
// L1 A promise is awaited, returned or marked with `void`. In a durable runtime an unawaited one is lost data.
// L2 protocol/ and actors/ are pure and synchronous: what they need of time, chance or the world is an argument.
// L3 A file fits in the head.
// L4 A test can fail: no expectation holds by the wrong side of an `&&`, without a matcher, in a try that swallows it,
//    or because a while has passed.
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

const typescript = [
  "protocol/**/*.ts",
  "actors/**/*.ts",
  "services/**/*.{ts,tsx}",
  "deploy/**/*.ts",
  "test/**/*.ts",
  "*.ts",
];
const product = ["protocol/**/*.ts", "actors/**/*.ts", "services/**/*.{ts,tsx}"];
const pure = ["protocol/**/*.ts", "actors/**/*.ts"];

const expectation = "CallExpression[callee.name='expect']";
/** A while that passes in real time, as a statement: of the tests' clock, by name, or by a timer. */
const whiles = [
  "[expression.argument.callee.object.name='systemClock'][expression.argument.callee.property.name='sleep']",
  "[expression.argument.callee.name=/^(sleep|delay)$/]",
  ":has(NewExpression[callee.name='Promise'] CallExpression[callee.name='setTimeout'])",
].map((one) => `ExpressionStatement[expression.type='AwaitExpression']${one}`);
const provesNothing = [
  {
    selector: `${expectation} > LogicalExpression[operator='&&'].arguments`,
    message: "It may hold because the left side is false: narrow first, then expect.",
  },
  {
    selector: `ExpressionStatement > ${expectation}`,
    message: "An expectation without a matcher expects nothing.",
  },
  {
    selector: "MemberExpression[property.name=/^toBe(Truthy|Falsy)$/]",
    message: "Say which value: a promise and an empty object are truthy, too.",
  },
  {
    selector: `TryStatement[handler] > BlockStatement.block ${expectation}`,
    message: "The catch may swallow it: expect after the try, or use toThrow and rejects.",
  },
  ...whiles.map((one) => ({
    selector: `${one} + ExpressionStatement:has(${expectation})`,
    message: "That a while has passed proves nothing: await a fact that comes after, then expect.",
  })),
  {
    selector: "MemberExpression[object.name=/^(test|describe)$/][property.name='only']",
    message: "The others must run, too.",
  },
];

/** Of a list that may be long it throws: each is an argument. */
const spreadExtremes = {
  selector: "CallExpression[callee.object.name='Math'][callee.property.name=/^(max|min)$/] > SpreadElement",
  message: "It throws from some 120,000 numbers on: maxOf or minOf of protocol/extremes.ts.",
};

const clock = "Pure code has no clock: take the time as an argument.";
const timer = "Pure code cannot wait: yield a timer intent.";
const world = "Pure code cannot see the world: take the value as an argument, or do it in services/.";
const chance = "Pure code has no chance: take the random number or the new id as an argument.";
const synchronous = "Pure code is synchronous: yield an intent and let services/ do it.";

export default defineConfig(
  globalIgnores(["dist/", "coverage/"]),
  { linterOptions: { reportUnusedDisableDirectives: "error", reportUnusedInlineConfigs: "error" } },

  {
    name: "sagamesh/typescript",
    files: typescript,
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "@typescript-eslint/no-floating-promises": ["error", { ignoreVoid: true }],
      "@typescript-eslint/no-misused-promises": "error",
      "@typescript-eslint/return-await": ["error", "in-try-catch"],
      "@typescript-eslint/only-throw-error": "error",
      // An abort's reason is whatever its owner gave, and is passed on as it is.
      "@typescript-eslint/prefer-promise-reject-errors": [
        "error",
        { allowThrowingUnknown: true, allowThrowingAny: true },
      ],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { allowDefaultCaseForExhaustiveSwitch: true, considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": ["error", { fixStyle: "inline-type-imports" }],
      "@typescript-eslint/no-import-type-side-effects": "error",
      "@typescript-eslint/no-explicit-any": "error",
      // A leading underscore says "on purpose"; rest siblings are how a field is left out.
      "@typescript-eslint/no-unused-vars": [
        "error",
        { argsIgnorePattern: "^_", varsIgnorePattern: "^_", ignoreRestSiblings: true },
      ],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-constant-binary-expression": "error",
      "no-fallthrough": "error",
      "no-self-compare": "error",
      "no-template-curly-in-string": "error",
      "no-unmodified-loop-condition": "error",
      "no-unreachable-loop": "error",
      "no-unsafe-finally": "error",
      "no-var": "error",
      "prefer-const": ["error", { destructuring: "all" }],

      // Taste, not bugs.
      "@typescript-eslint/no-confusing-void-expression": "off",
      "@typescript-eslint/no-invalid-void-type": "off",
      "@typescript-eslint/no-unnecessary-type-parameters": "off",
      "@typescript-eslint/unified-signatures": "off",
      "@typescript-eslint/require-await": "off", // a port's memory side is async because the port is
      "@typescript-eslint/no-dynamic-delete": "off",
      "@typescript-eslint/no-extraneous-class": "off",
      "@typescript-eslint/no-empty-function": "off",
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off", // errors are told by code, across copies of the package
      // A condition the types call needless is often a check of what came from outside.
      "@typescript-eslint/no-unnecessary-condition": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/restrict-template-expressions": [
        "error",
        {
          allowNumber: true,
          allowBoolean: true,
          allowNever: true,
          allow: [{ from: "lib", name: ["Error", "URL"] }],
        },
      ],
    },
  },

  {
    name: "sagamesh/sizes", // L3
    files: product,
    ignores: [
      "protocol/errors.ts", // one table
      "actors/agent/agent.ts", // one statechart, whose states, guards and actions XState types together
      // Short functions that share one small piece of state: apart they would hand it to one another.
      "services/host/{activation,inputs,roster}.ts",
      "services/memory/queue.ts",
      "services/nats/pull.ts",
      "services/throttle/throttle.ts",
      // A list of declarations: of metrics, and of the outside world's doors.
      "services/runtime/health/metrics.ts",
      "services/demo/world.ts",
    ],
    rules: {
      "max-lines": ["error", { max: 350, skipBlankLines: true, skipComments: true }],
      "max-lines-per-function": ["error", { max: 70, skipBlankLines: true, skipComments: true }],
    },
  },

  {
    name: "sagamesh/long-lists",
    files: product,
    rules: { "no-restricted-syntax": ["error", spreadExtremes] },
  },

  {
    name: "sagamesh/xstate",
    files: product,
    // The one place that speaks to XState may rebuild the inert references of a machine's children.
    ignores: ["actors/machine/machine.ts"],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          paths: [
            {
              name: "xstate",
              importNames: ["createActor", "interpret"],
              message: "XState is used through its pure functions, in actors/machine/machine.ts.",
            },
          ],
        },
      ],
    },
  },

  {
    name: "sagamesh/pure", // L2
    files: pure,
    rules: {
      "no-restricted-globals": [
        "error",
        {
          checkGlobalObject: true,
          globals: [
            ...["Date", "performance", "Temporal"].map((name) => ({ name, message: clock })),
            ...["setTimeout", "setInterval", "setImmediate", "queueMicrotask"].map((name) => ({
              name,
              message: timer,
            })),
            ...["process", "fetch", "console", "navigator", "WebSocket"].map((name) => ({
              name,
              message: world,
            })),
            { name: "crypto", message: "Hash through protocol/digest.ts; take new ids as arguments." },
          ],
        },
      ],
      "no-restricted-properties": ["error", { object: "Math", property: "random", message: chance }],
      "no-restricted-syntax": [
        "error",
        spreadExtremes,
        { selector: ":function[async=true]", message: synchronous },
        { selector: "AwaitExpression", message: synchronous },
        { selector: "ForOfStatement[await=true]", message: synchronous },
        { selector: "VariableDeclaration[kind='await using']", message: synchronous },
        { selector: "NewExpression[callee.name='Promise']", message: synchronous },
        { selector: "MemberExpression[object.name='Promise']", message: synchronous },
        { selector: "ImportExpression", message: synchronous },
      ],
    },
  },

  {
    name: "sagamesh/template", // Node's runner waits for its tests by itself.
    files: ["services/new/template/*.test.ts"],
    rules: {
      "@typescript-eslint/no-floating-promises": [
        "error",
        { allowForKnownSafeCalls: [{ from: "package", package: "node:test", name: "test" }] },
      ],
    },
  },

  {
    name: "sagamesh/test",
    files: ["test/**/*.ts"],
    rules: {
      // Tests feed the doors what no type allows, so they may step outside the types to do it.
      "@typescript-eslint/no-explicit-any": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/only-throw-error": "off",
      "@typescript-eslint/unbound-method": "off",
      "no-restricted-syntax": ["error", ...provesNothing], // L4
    },
  },

  {
    name: "sagamesh/scripts",
    files: ["**/*.js", "**/*.cjs", "**/*.mjs"],
    extends: [tseslint.configs.base],
    rules: { eqeqeq: ["error", "always"], "no-unused-vars": "error", "no-unreachable": "error" },
  },
);
