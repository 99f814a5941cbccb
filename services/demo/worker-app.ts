/**
 * The application file of the demo's worker: the bodies of the tools that workers perform.
 */
import { defineApp, implement } from "sagamesh";
import {
  chargeDeposit,
  enrichCandidate,
  findDeposit,
  releaseRoom,
  requestInterview,
  withdrawRequest,
} from "./hiring.ts";
import { request, requestLater } from "./world-client.ts";

/** A candidate who has not answered by then has declined. */
const answerWithinMs = 60_000;

export default defineApp({
  implementations: [
    implement(enrichCandidate, { perform: (input, context) => request(enrichCandidate, input, context) }),
    implement(requestInterview, {
      perform: async (input, context) => {
        await requestLater(requestInterview, input, context);
        return context.defer({ withinMs: answerWithinMs });
      },
    }),
    implement(withdrawRequest, { perform: (input, context) => request(withdrawRequest, input, context) }),
    implement(releaseRoom, { perform: (input, context) => request(releaseRoom, input, context) }),
    implement(chargeDeposit, { perform: (input, context) => request(chargeDeposit, input, context) }),
    implement(findDeposit, { perform: (input, context) => request(findDeposit, input, context) }),
  ],
});
