/** The product with one safeguard removed: each of these must be found, or the simulation proves nothing. */
import { type LoadHookContext, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

export type Mutant = {
  name: string;
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  replace: string;
  /** The story and engine that show it. */
  story: string;
  engine: "sqlite" | "aws";
  /** It is the old one of two versions side by side (`versions/names.ts`). */
  mix?: string;
};

export const mutants: readonly Mutant[] = [
  {
    name: "home-cancel",
    file: "lambdas/verification/worker/interactions.ts",
    find: "return task.message.user === user && isOfInstallation(task, installation);",
    replace: "return false;",
    story: "home",
    engine: "sqlite",
  },
  {
    name: "stop-of-unrecorded-stream",
    file: "lambdas/verification/worker/interactions.ts",
    find: "isOwn || (hasUnrecorded && mayHaveUnrecordedStream(task))",
    replace: "isOwn",
    story: "stopped",
    engine: "sqlite",
  },
  {
    name: "vote-passed-on-again",
    file: "lambdas/verification/worker/votes.ts",
    find: "if (item !== task && (await",
    replace: "if (item === task) return undefined;\n      if ((await",
    story: "voted",
    engine: "aws",
  },
  {
    name: "retry-leaves-failure",
    file: "lambdas/verification/worker/deliver.ts",
    find: "return buttons !== undefined && !isOutcome(part);",
    replace: "return buttons !== undefined;",
    story: "retried",
    engine: "sqlite",
  },
  {
    name: "edit-taken",
    file: "lambdas/verification/task/edited.ts",
    find: "text: textOf(message, known),",
    replace: "text: known.text,",
    story: "edited",
    engine: "aws",
  },
  {
    name: "conditional-create",
    file: "test/faults/sim-records.ts",
    find: "return live(item.id) ? undefined : write",
    replace: "return write",
    story: "sync",
    engine: "aws",
  },
  {
    name: "compare-and-set",
    file: "test/faults/sim-records.ts",
    find: "if (row?.item.revision !== item.revision) return undefined;",
    replace: "if (row === undefined) return undefined;",
    story: "sync",
    engine: "aws",
  },
  {
    name: "worker-lease",
    file: "lambdas/verification/worker/worker.ts",
    find: "task.lease !== undefined && task.lease.untilMs > nowMs) {",
    replace: "task.lease !== undefined && task.lease.untilMs > nowMs + 1e9) {",
    story: "foreign",
    engine: "aws",
  },
  {
    name: "start-claim",
    file: "lambdas/execution/tasks/changes.ts",
    find: "isUnstarted(task) || isHeldBy(task, owner)",
    replace: "task.params !== undefined",
    story: "accepted",
    engine: "aws",
  },
  {
    name: "refusal-claim",
    file: "lambdas/verification/gate/refusals.ts",
    find: "return isClaimed;",
    replace: "return true;",
    story: "refused",
    engine: "aws",
  },
  {
    name: "limit-told-alone",
    file: "lambdas/verification/task/unsent.ts",
    find: 'return turnAway(task, { type: "limited", ...over });',
    replace: 'return setOutcome(task, { type: "limited", ...over });',
    story: "limited",
    engine: "aws",
  },
  {
    name: "usage-history",
    file: "lambdas/verification/worker/acts.ts",
    find: "    else join({ writes, stored: () => leaving?.stored(), alone });",
    replace: "    else void alone().catch(() => {});",
    story: "sync",
    engine: "aws",
  },
  {
    name: "lookup-by-metadata",
    file: "lambdas/verification/worker/deliver.ts",
    find: "const found = isUnsure ? await ownPostsOrKnown(request) : knownPosts(task);",
    replace: "const found = knownPosts(task);",
    story: "accepted",
    engine: "sqlite",
  },
  {
    name: "reconcile-mark",
    file: "lambdas/verification/task/step.ts",
    find: "return { ...task, reconcile: true };",
    replace: "return task;",
    story: "accepted",
    engine: "sqlite",
  },
  {
    name: "host-idempotency",
    file: "lambdas/execution/methods/methods.ts",
    find: "taskId: deriveTaskId({ principal, requestId: id }),",
    replace: "taskId: undefined,",
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "wake-before-save",
    file: "lambdas/verification/worker/run-step.ts",
    find: `    await queue.send({ ...next, delayMs: toDelayMs(options, effects) });
  }`,
    replace: `    const { lease: _held, ...free } = task;
    const savedFirst = await replaceWith(store, hold, { ...free, wakeSeq: seq + 1 });
    await queue.send({ ...next, delayMs: toDelayMs(options, effects) });
    return savedFirst;
  }`,
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "record-before-act",
    file: "lambdas/verification/worker/run-step.ts",
    find: "const isRepeatable = next.effects.every((effect) => !isAct(effect) || repeatableActs.has(effect.type));",
    replace: "const isRepeatable = true as boolean;",
    story: "foreign",
    engine: "sqlite",
  },
  {
    name: "refused-writes-alone",
    file: "lambdas/verification/worker/run-step.ts",
    find: "    await joint.alone();",
    replace: "",
    story: "thread",
    engine: "aws",
  },
  {
    name: "claim-after-look",
    file: "lambdas/verification/worker/run-step.ts",
    find: "} else if (hold.lease === undefined && !looks.has(act.type)) {",
    replace: "} else if (hold.lease === undefined && looks.size === 0) {",
    story: "told",
    engine: "sqlite",
  },
  {
    name: "finish-last",
    file: "lambdas/shared/engine/loop.ts",
    find: "await handle(message, limit.signal);",
    replace: "await consumer.finish({ receipt: message.receipt }); await handle(message, limit.signal);",
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "response-id",
    file: "lambdas/verification/transport/read-response.ts",
    find: 'if (envelope.id !== id) throw new SekishoError("invalid_response");',
    replace: "",
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "sweep",
    file: "lambdas/verification/worker/deliver.ts",
    find: '    if (action.type !== "remove") continue;\n    await perform(request, action);',
    replace: "    continue;",
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "look-up-in-doubt",
    file: "lambdas/verification/task/sent.ts",
    find: "const inDoubt = resumed || mayHaveArrived(task);",
    replace: "const inDoubt = false as boolean;",
    story: "foreign",
    engine: "sqlite",
  },
  {
    name: "doubt-after-send",
    file: "lambdas/verification/transport/wrappers.ts",
    find: "!mayHaveArrived && isDeduplicated(call, idempotent)",
    replace: "!mayHaveArrived",
    story: "foreign",
    engine: "sqlite",
  },
  {
    name: "pinned-by-doubt",
    file: "lambdas/verification/task/routing.ts",
    find: "if (isPinned(task)) return [present];",
    replace: "",
    story: "spared",
    engine: "sqlite",
  },
  {
    name: "orphaned-stream",
    file: "lambdas/verification/task/waiting.ts",
    find: "...task.stream, inDoubt: true",
    replace: "...task.stream",
    story: "told",
    engine: "sqlite",
  },
  {
    name: "border",
    file: "lambdas/verification/gate/gate.ts",
    find: "return isOwn ? own : {",
    replace: "return isOwn || true ? own : {",
    story: "bordered",
    engine: "sqlite",
  },
  {
    name: "question-found-again",
    file: "lambdas/verification/task/asking.ts",
    find: '{ type: "ask_question", reconcile: task.reconcile === true }',
    replace: '{ type: "ask_question", reconcile: false }',
    story: "asked",
    engine: "sqlite",
  },
  {
    name: "question-is-closed",
    file: "lambdas/verification/worker/deliver.ts",
    find: "  await showOneOf(request, { ts, part: questionPart + index, contents });",
    replace: "  void contents;",
    story: "unanswered",
    engine: "sqlite",
  },
  {
    name: "files-found-by-id",
    file: "lambdas/verification/worker/own-posts.ts",
    find: "if (fileIds.some((id) => uploads.includes(id))) return",
    replace: "if (fileIds.some((id) => !uploads.includes(id))) return",
    story: "files",
    engine: "sqlite",
  },
  {
    name: "opening-found-again",
    file: "lambdas/verification/worker/deliver.ts",
    find: "key?.requestId === requestId && key.part === openingPart",
    replace: "key?.requestId === requestId && key.part < 0",
    story: "commanded",
    engine: "sqlite",
  },
  {
    name: "redelivery",
    file: "lambdas/verification/ingress/ingress.ts",
    find: '"failed" ? 503 : 200',
    replace: '"failed" ? 200 : 200',
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "cancel-reaches-agent",
    file: "lambdas/execution/runs/run.ts",
    find: 'else stop(task?.state === "canceled" ? "canceled" : "superseded");',
    replace: "else void stop;",
    story: "canceled",
    engine: "aws",
  },
  {
    name: "one-at-a-time",
    file: "lambdas/verification/task/thread.ts",
    find: "const waitsFor = own.begun || parallel ?",
    replace: "const waitsFor = own.begun || !parallel ?",
    story: "thread",
    engine: "sqlite",
  },
  {
    name: "message-text-in-log",
    file: "lambdas/verification/worker/worker.ts",
    find: 'log.debug("lease_held", { seq, delay_ms: copy.delayMs })',
    replace: 'log.debug("lease_held", { seq, cause_kind: task.message.text })',
    story: "sync",
    engine: "aws",
  },
  {
    name: "token-is-not-kept",
    file: "lambdas/execution/methods/methods.ts",
    find: "const { bot_token: botToken, ...input } = params;",
    replace: "const { bot_token: botToken, ...input } = { ...params, correlation_id: params.bot_token };",
    story: "sync",
    engine: "sqlite",
  },
  {
    name: "newer-member-of-task",
    file: "lambdas/verification/task/task.ts",
    find: "return json as Task;",
    replace: "return taskSchema.parse(json);",
    story: "sync",
    engine: "aws",
    mix: "turns:minor",
  },
  {
    name: "newer-member-of-thread",
    file: "lambdas/verification/task/thread.ts",
    find: "return json as Thread;",
    replace: "return threadSchema.parse(json);",
    story: "thread",
    engine: "sqlite",
    mix: "turns:minor",
  },
  {
    name: "newer-member-at-host",
    file: "lambdas/shared/engine/record-version.ts",
    find: "return json as T;",
    replace: "return schema.parse(json);",
    story: "accepted",
    engine: "aws",
    mix: "hosts:minor",
  },
  {
    name: "newer-member-of-message",
    file: "lambdas/verification/task/messages.ts",
    find: "return json as QueueMessage;",
    replace: "return queueMessageSchema.parse(json);",
    story: "followed",
    engine: "aws",
    mix: "ingress_next:minor",
  },
  {
    name: "newer-record-is-broken",
    file: "lambdas/shared/engine/records.ts",
    find: 'isNewer = comparison !== "known";\n    if (comparison === "newer_major")',
    replace: "if (false)",
    story: "accepted",
    engine: "sqlite",
    mix: "seldom:records",
  },
  {
    name: "newer-message-is-refused",
    file: "lambdas/verification/task/messages.ts",
    find: "return !knownTypes.includes(",
    replace: "return false && knownTypes.includes(",
    story: "accepted",
    engine: "aws",
    mix: "seldom:messages",
  },
  {
    name: "newer-message-is-dropped",
    file: "lambdas/shared/engine/leave-to-newer.ts",
    find: "await queue.send({",
    replace: "void ({",
    story: "sync",
    engine: "aws",
    mix: "ingresses:messages",
  },
];

/** From now on the product is loaded with that mutant. Throws where the mutant does not fit the product any more. */
export function installMutant({ name }: { name: string }): void {
  const mutant = mutants.find((known) => known.name === name);
  if (mutant === undefined) throw new Error(`There is no mutant "${name}".`);
  registerHooks({
    load(url, context: LoadHookContext, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.startsWith("file:") || !fileURLToPath(url).endsWith(`/${mutant.file}`)) return loaded;
      return { ...loaded, source: mutated({ mutant, source: String(loaded.source) }) };
    },
  });
}

function mutated({ mutant: { name, find, replace }, source }: { mutant: Mutant; source: string }): string {
  const parts = source.split(find);
  if (parts.length !== 2) {
    throw new Error(`The mutant "${name}" fits ${parts.length - 1} places of its file; it must be one.`);
  }
  return parts.join(replace);
}
