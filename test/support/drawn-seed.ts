/**
 * What the properties draw: new cases in each run by hand and in each nightly run; with `MESH_SEED=N` set, as `.ci/run`
 * sets it, the same cases in every run, so that a change is not held back by a case that has nothing to do with it.
 */
const { MESH_SEED: seed } = process.env;

if (seed !== undefined && seed !== "") {
  const { configureGlobal, readConfigureGlobal } = await import("fast-check");
  configureGlobal({ ...readConfigureGlobal(), seed: Number(seed) });
}
