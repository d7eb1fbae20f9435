/** Dead letters: what was given up on, why, and another chance for it. */
import { useEffect, useState } from "preact/hooks";
import type { DeadLetterRow, DeadLettersView, RedriveResult } from "../../operators-api.ts";
import { Button, Problem } from "../elements.tsx";
import { Age } from "../time.tsx";
import { act, count, read, shortId, usePage, useProblem } from "./page.tsx";

export function DeadLetters() {
  const { announce, confirm } = usePage();
  const { problem, attempt } = useProblem();
  const [view, setView] = useState<DeadLettersView>();
  const rows = view?.rows ?? [];

  const refresh = async () => setView(await read<DeadLettersView>("dead-letters"));
  useEffect(() => void attempt(refresh), []);

  /** All of them if there is no `requestId`. */
  async function redrive(requestId?: string): Promise<void> {
    const all = rows.length === 1 ? "the dead letter" : `all ${rows.length} dead letters`;
    const title = `Redrive ${requestId === undefined ? all : shortId(requestId)}?`;
    const text =
      "Tasks that never started will start. For tasks that have ended, only the answer is delivered again. No agent runs twice.";
    if (!(await confirm({ title, text, yes: "Redrive" }))) return;
    await attempt(async () => {
      const body = requestId === undefined ? { all: true } : { requestIds: [requestId] };
      const { redriven } = await act<RedriveResult>("dead-letters/redrive", body);
      announce(`${count(redriven.length, "task")} redriven.`);
      await refresh();
      if (redriven.length === 0)
        throw new Error("Nothing was redriven: these dead letters no longer exist.");
    });
  }

  return (
    <>
      <div class="view-head">
        <h2>Dead letters</h2>
        <div class="tools">
          <Button onClick={() => attempt(refresh)}>Refresh</Button>
          <Button disabled={rows.every((row) => row.requestId === null)} onClick={() => redrive()}>
            Redrive all
          </Button>
        </div>
      </div>
      <p class="soft">{view?.about}</p>
      <Problem text={problem} />
      {view !== undefined && (
        <ul class="panel dead-letters" aria-label="Dead letters">
          {rows.length === 0 && <li class="none">No dead letters.</li>}
          {rows.map((row) => (
            <Letter key={row.key} row={row} onRedrive={redrive} />
          ))}
        </ul>
      )}
    </>
  );
}

type LetterProps = { row: DeadLetterRow; onRedrive(requestId: string): void };

function Letter({ row: { requestId, kind, keptAtMs, task, reason }, onRedrive }: LetterProps) {
  return (
    <li class="letter">
      {requestId === null ? (
        <span class="soft">unreadable</span>
      ) : (
        <a href={`#/tasks/${requestId}`}>
          <code>{shortId(requestId)}</code>
        </a>
      )}
      <span class="soft">{kind}</span>
      <span class="reason">
        {reason}
        <small>task: {task}</small>
      </span>
      <Age atMs={keptAtMs} />
      {requestId !== null && (
        <Button aria-label={`Redrive ${shortId(requestId)}`} onClick={() => onRedrive(requestId)}>
          Redrive
        </Button>
      )}
    </li>
  );
}
