/** The kit that users have, too: sagas tested by their ledgers. */
export {
  cancelled,
  deferred,
  failed,
  fired,
  given,
  inDoubt,
  replied,
  resulted,
  signalled,
  started,
  type Story,
  storyBegan,
  succeeded,
  voted,
} from "../../services/testing/given.ts";
