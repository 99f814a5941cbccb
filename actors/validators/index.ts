/**
 * What an application imports as `sagamesh/validators`: who judges the work of others, and the judges that come with
 * sagamesh.
 */
export {
  type Finding,
  type ValidationType,
  type ValidatorAnswer,
  ValidatorVerdict,
  type VerdictChange,
} from "../../protocol/verdict.ts";
export {
  boundaryIntegrity,
  claimConsistency,
  contractConformance,
  dependencySatisfaction,
  type ExecutionRecord,
  mutualAgreement,
  type NodeContract,
  type Occurrence,
  temporalOrder,
  transactionCoherence,
} from "./between.ts";
export {
  type BrokenRule,
  constraintAdherence,
  contextPreservation,
  type FactClaim,
  factualAccuracy,
  type ReasoningStep,
  semanticValidity,
  soundReasoning,
  syntacticValidity,
  type ValidationRule,
} from "./built-in.ts";
export { honestOutput } from "./honest.ts";
export {
  allOfValidators,
  anyOfValidators,
  type CombinedConfig,
  tieredValidators,
  validatorsByType,
} from "./combined.ts";
export type { MaterialSelection, ValidatorMaterial } from "./context.ts";
export { type ModelJudge, modelJudge } from "./model.ts";
export {
  type CheckedMaterial,
  defineValidator,
  implementCheck,
  type Validator,
  type ValidatorCheck,
  type ValidatorConfig,
} from "./validator.ts";
