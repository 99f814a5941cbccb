/** What is wrong with what is served and declared: sagas that cannot go on, and starts that wait. Pure. */
import { briefDefinition } from "../../../protocol/definition-text.ts";
import { amongThem, fine, type Judge, warning, wrong } from "./finding.ts";

const serveOrMove =
  "Start a host of it: `sagamesh host --app FILE`; or move its sagas to a definition that is served: `sagamesh migrate --app FILE`.";

export const judgeDeployments: Judge = (document) => {
  const { deployments, hosts } = document;
  // Without any host that is all there is to say, and it is said of the hosts.
  if (deployments === undefined || hosts.every(({ draining }) => draining)) return [];
  const { unserved, declared, faults } = deployments;
  const findings = [
    ...unserved.map(({ definition, sagas, some }) =>
      wrong(
        "UNSERVED_SAGAS",
        `${sagas} saga${sagas === 1 ? "" : "s"} of ${briefDefinition(definition)} cannot go on, for no host serves it: ${some.join(", ")}${sagas > some.length ? ", …" : ""}`,
        serveOrMove,
      ),
    ),
    ...declared.flatMap(({ name, current, ramp }) => [
      ...(current.served
        ? []
        : [
            wrong(
              "PROMOTED_UNSERVED",
              `starts of ${name} wait: ${briefDefinition(current.definition)} was promoted, and no host serves it`,
              `Start a host of it: \`sagamesh host --app FILE\`; or promote one that is served: \`sagamesh deployments promote ${name}@VERSION\`.`,
            ),
          ]),
      ...(ramp === undefined || ramp.served
        ? []
        : [
            warning(
              "RAMP_UNSERVED",
              `a ramp sends ${Math.round(ramp.share * 100)} % of the starts of ${name} to ${briefDefinition(ramp.definition)}, which no host serves: they go to the current one`,
              `Start a host of it, or end the ramp: \`sagamesh deployments ramp ${name}@${ramp.definition.version} 0%\`.`,
            ),
          ]),
    ]),
    ...faults.map((fault) =>
      warning(
        "DECLARATION_UNREADABLE",
        fault,
        "Hosts go by it as if nothing was declared. Declare it anew: `sagamesh deployments promote NAME@VERSION`.",
      ),
    ),
  ];
  return findings.length > 0
    ? findings
    : [fine("DEPLOYMENTS", `the definition of every living saga is served${amongThem(document)}`)];
};
