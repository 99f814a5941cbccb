/**
 * What a test of an application imports as `sagamesh/testing`: a model that is a function, a mesh whose clock the
 * test turns, a scenario with a crash at every write, and sagas told as given, when, then.
 */
export { type ScriptedAnswer, scriptedModel } from "../models/scripted.ts";
export { crashMatrix, type CrashMatrixOptions, type CrashReport, type CrashRow } from "./crash-matrix.ts";
export type { Duration } from "../../protocol/duration.ts";
export {
  cancelled,
  deferred,
  type Expected,
  failed,
  fired,
  type Given,
  given,
  type Happening,
  inDoubt,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  storyBegan,
  succeeded,
  voted,
} from "./given.ts";
export type { PerformedCall } from "./performed.ts";
export { recordedModel, type RecordedModelOptions } from "./recorded-model.ts";
export { testMesh, type TestMesh, type TestMeshOptions } from "./test-mesh.ts";
export type { TestSaga } from "./test-saga.ts";
