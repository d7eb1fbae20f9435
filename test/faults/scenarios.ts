/** Runs in which the product failed once. Each stays here after it was mended. */
import type { Scenario } from "./scenario.ts";

export const scenarios: readonly Scenario[] = [
  {
    name: "follow-up-dead-before-announced",
    what: "the store is away for seven minutes just after a follow-up without a mention was lined up",
    story: "followed",
    engine: "sqlite",
    faults: [
      { point: "queue.send", about: "wake 1 of #2", kind: "lost" },
      { point: "store.get", about: "thread of #1: #2 begun", times: 4, kind: "lost" },
    ],
  },
  {
    name: "follow-up-dead-after-refused-placeholder",
    what: "the placeholder of a follow-up without a mention is refused, and then its wake-up becomes a dead letter",
    story: "followed",
    engine: "sqlite",
    faults: [
      { point: "slack.post", about: "part 0 of #2", kind: "refused" },
      { point: "store.get", about: "task #2 received", times: 5, kind: "lost" },
    ],
  },
  {
    name: "orphaned-stream-after-dead-letter",
    what: "a native stream begins, is not recorded, and the wake-up becomes a dead letter",
    story: "told",
    engine: "sqlite",
    faults: [
      { point: "queue.send", about: "wake 5 of #1", kind: "lost" },
      { point: "store.get", about: "task #1 waiting with lease", times: 4, kind: "lost" },
    ],
  },
  {
    name: "question-lands-late",
    what: "a question that was given up lands while it is posted again: two of them stand there, the earlier one unrecorded",
    story: "unanswered",
    engine: "sqlite",
    faults: [
      {
        point: "slack.post",
        about: "part 2001 of #1",
        kind: "slow",
        landsBefore: { point: "slack.post", about: "part 2001 of #1", nth: 2 },
      },
    ],
  },
  {
    name: "doubled-opening-in-gone-channel",
    what: "Slack makes the opening of a slash command twice, and then nobody can post in the channel any more",
    story: "commanded",
    engine: "aws",
    faults: [
      { point: "slack.post", about: "part 3001 of #1", kind: "repeated" },
      { point: "slack.post", about: "part 0 of #1", kind: "gone" },
    ],
  },
  {
    name: "answer-lands-late",
    what: "an answer that was given up lands while it is posted again: the second one goes",
    story: "accepted",
    engine: "aws",
    faults: [
      {
        point: "slack.post",
        about: "part 1 of #1",
        kind: "slow",
        landsBefore: { point: "slack.post", about: "part 1 of #1", nth: 2 },
      },
    ],
  },
  {
    name: "follow-up-overtakes-first-message",
    what: "the first message of a thread is delayed by a minute and a half, and a follow-up without a mention comes meanwhile",
    story: "followed",
    engine: "sqlite",
    faults: [{ point: "store.get", about: "task #1 absent", kind: "lost" }],
  },
  {
    name: "cancel-overtakes-first-message",
    what: "the first message of a thread is delayed by minutes, and the word to cancel comes meanwhile",
    story: "canceled",
    engine: "aws",
    faults: [{ point: "store.get", about: "task #1 absent", kind: "dies_before" }],
  },
  {
    name: "placeholder-blocks-refused",
    what: "Slack does not take the blocks of the placeholder, which is no reason not to do what was asked",
    story: "accepted",
    engine: "aws",
    faults: [{ point: "slack.post", about: "part 0 of #1", kind: "blocks_refused" }],
  },
  {
    name: "failure-words-blocks-refused",
    what: "the call to a peer is interrupted, and Slack does not take the blocks of the words that say so",
    story: "foreign",
    engine: "aws",
    faults: [
      { point: "tasks.create", about: "task #1 submitted", kind: "dies_before" },
      { point: "slack.update", about: "part 1 of #1", kind: "blocks_refused" },
    ],
  },
  {
    name: "question-cannot-be-closed",
    what: "Slack does not take the blocks of a question that was answered: its buttons are to go all the same",
    story: "asked",
    engine: "sqlite",
    faults: [{ point: "slack.update", about: "part 2001 of #1", kind: "blocks_refused" }],
  },
  {
    name: "question-in-gone-channel",
    what: "nobody may post or edit any more when a question is open: it is removed, with its buttons",
    story: "unanswered",
    engine: "aws",
    faults: [{ point: "slack.post", about: "part 1 of #1", kind: "gone" }],
  },
  {
    name: "follow-up-in-outage-of-hours",
    what: "store and queue are away for three hours from the moment at which a follow-up without a mention comes",
    story: "followed",
    engine: "sqlite",
    faults: [],
    outages: [{ parties: ["store", "queue"], fromSeconds: 30, seconds: 3 * 3600, manner: "lost" }],
  },
  {
    name: "orphaned-stream-at-the-deadline",
    what: "a worker begins a native stream and fails, and the zone is off until the deadline of the task has passed",
    story: "told",
    engine: "aws",
    faults: [
      { point: "work.send", about: "task of #1", kind: "lost" },
      { point: "queue.send", about: "wake 4 of #1", kind: "lost" },
    ],
    outages: [{ parties: ["verification"], fromSeconds: 16, seconds: 29_188, manner: "lost" }],
  },
  {
    name: "more-than-a-day-off",
    what: "the machine is off for 26 hours with an answer on its way, and the first delivery after that is limited",
    story: "accepted",
    engine: "sqlite",
    faults: [{ point: "slack.post", about: "part 1 of #1", kind: "limited" }],
    outages: [{ parties: ["verification"], fromSeconds: 40, seconds: 26 * 3600, manner: "lost" }],
  },
];
