/** What is wrong with schedules: runs that should have begun, and runs that no host would take. Pure. */
import { fine, type Judge, span, wrong } from "./finding.ts";

export const judgeSchedules: Judge = ({ schedules, hosts }) => {
  // Without any host that is all there is to say, and it is said of the hosts.
  if (schedules === undefined || hosts.every(({ draining }) => draining)) return [];
  const findings = [
    ...schedules.late.map(({ name, lateMs }) =>
      wrong(
        "SCHEDULE_LATE",
        `schedule ${name} should have begun a run ${span(lateMs)} ago`,
        `See \`sagamesh schedule show ${name}\` and what else is found here: its saga is moved by hosts of this version, once its timer has come. \`sagamesh nudge --all\` has timers armed again.`,
      ),
    ),
    ...schedules.unserved.map(({ name, of }) =>
      wrong(
        "SCHEDULE_UNSERVED",
        `no host serves ${of}, so the runs of schedule ${name} wait`,
        `Start a host of it: \`sagamesh host --app FILE\`; or \`sagamesh schedule delete ${name}\`.`,
      ),
    ),
  ];
  return findings.length > 0
    ? findings
    : [fine("SCHEDULES", "every schedule is in time, and its runs are served")];
};
