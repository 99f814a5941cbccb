/** What `deployments` prints for people. */
import { briefDefinition } from "../../../protocol/definition-text.ts";
import type {
  DeclaredDocument,
  DeploymentDocument,
  DrainDocument,
} from "../../../protocol/documents/deployment.ts";
import { table } from "../frame/table.ts";
import { dateOf } from "./describe.ts";

/** All of them, a line each. */
export function describeDeployments(deployments: readonly DeploymentDocument[]): string {
  if (deployments.length === 0) return "no definition is served, declared, or has living sagas";
  const rows = table(
    ["DEFINITION", "NEW SAGAS", "RUN", "SLEEP", "WAIT FOR A HOST", "SINCE", "SERVED BY"],
    deployments.map((one) => [
      briefDefinition(one),
      startsOf(one),
      ...[one.sagas.running, one.sagas.sleeping, one.sagas.waiting].map(String),
      one.hosts[0] === undefined ? "-" : dateOf(one.hosts[0].since),
      one.hosts.map(({ host, draining }) => (draining ? `${host} (drains)` : host)).join(", ") || "no host",
    ]),
  );
  return [rows, ...deployments.flatMap(staysOf)].join("\n");
}

const staysMax = 10;

/** Of those that move by themselves, the ones that stay. */
function staysOf(one: DeploymentDocument): string[] {
  const { stays = [] } = one;
  const more = stays.length - staysMax;
  return [
    ...stays
      .slice(0, staysMax)
      .map(
        ({ saga, to, turn, why }) =>
          `${saga} stays under ${briefDefinition(one)} and does not move to ${briefDefinition(to)}: ${turn === undefined ? "" : `turn ${turn}: `}${why}`,
      ),
    ...(more > 0 ? [`and ${more} more stay under ${briefDefinition(one)}`] : []),
  ];
}

function startsOf({ starts, current, ramp, hosts }: DeploymentDocument): string {
  const isServed = hosts.some(({ draining }) => !draining);
  const got = current && !isServed ? "wait" : typeof starts === "number" ? percent(starts) : starts;
  if (current) return `${got} (current)`;
  if (ramp === undefined) return got;
  return isServed ? `${got} (ramp)` : `none (ramp of ${percent(ramp)}, no host)`;
}

/** A share as people write it. */
export const percent = (share: number): string => `${Number((share * 100).toFixed(2))}%`;

/** What is declared of a name now, and what of it no host serves. */
export function describeDeclared({ name, declared, hosts, unserved }: DeclaredDocument): string {
  const goBy = hosts === 1 ? "the one host goes by it" : `all ${hosts} hosts go by it`;
  return [
    `${declaredText(name, declared)}; ${hosts === 0 ? "no host runs" : goBy}`,
    ...unserved.map((ref) =>
      declared !== undefined && ref.hash === declared.current.hash
        ? `no host serves ${briefDefinition(ref)}: starts of ${name} wait until one does`
        : `no host serves ${briefDefinition(ref)}: its share goes to the current one until one does`,
    ),
  ].join("\n");
}

function declaredText(name: string, declared: DeclaredDocument["declared"]): string {
  if (declared === undefined) return `new sagas of ${name} begin with the newest version that is served`;
  const { current, ramp } = declared;
  if (ramp === undefined) return `new sagas of ${name} begin with ${briefDefinition(current)}`;
  return `${percent(ramp.share)} of new sagas of ${name} begin with ${briefDefinition(ramp.to)}, the others with ${briefDefinition(current)}`;
}

const namedMax = 3;

/** What still needs a definition. */
export function describeNeeds({ definition, needed, sagas, starts, parents }: DrainDocument): string {
  const name = briefDefinition(definition);
  if (!needed) return `nothing needs ${name} any more: hosts of it can be stopped`;
  const some = `${sagas.slice(0, namedMax).join(", ")}${sagas.length > namedMax ? ", …" : ""}`;
  const needs = [
    ...(sagas.length === 0
      ? []
      : [
          sagas.length === 1
            ? `1 saga goes on under it (${some})`
            : `${sagas.length} sagas go on under it (${some})`,
        ]),
    ...(starts === "all" ? ["new sagas begin with it (promote another)"] : []),
    ...(starts === "share" ? ["a share of new sagas begins with it (end the ramp, or promote another)"] : []),
    ...(parents.length === 0 ? [] : [`${parents.map(briefDefinition).join(", ")} may start it as a child`]),
  ];
  return `${name} is needed: ${needs.join("; ")}`;
}
