/** The timeline beside a conversation: of the task that the person looks at. */
import { useEffect, useState } from "preact/hooks";
import type { TimelineOutcome } from "../../timeline-groups.ts";
import type { TimelineStep } from "../../timeline-step.ts";
import { read } from "../server.ts";
import { Timeline } from "../timeline.tsx";

type PanelProps = {
  requestId: string | undefined;
  /** The steps that this run of the server has seen. */
  steps: readonly TimelineStep[];
  /** The task began before this run, so its record knows more. */
  isRecorded: boolean;
};

export function TimelinePanel({ requestId, steps, isRecorded: isFromRecord }: PanelProps) {
  const record = useRecord({
    requestId: isFromRecord ? requestId : undefined,
    count: steps.length,
  });
  return (
    <section class="panel timeline" aria-label="Timeline">
      <header>
        <h2>Timeline</h2>
        {requestId === undefined ? (
          <p class="soft">Send a message to see every step of its task.</p>
        ) : (
          <small title={requestId}>Request {requestId.slice(0, 8)}</small>
        )}
      </header>
      {requestId !== undefined && (
        <Timeline taskId={requestId} steps={record?.timeline ?? steps} outcome={record?.row.kind} />
      )}
    </section>
  );
}

type TaskRecord = { timeline: readonly TimelineStep[]; row: { kind: TimelineOutcome } };

/** The timeline of a task by its record, read again when the task goes on. */
function useRecord({ requestId, count }: { requestId: string | undefined; count: number }) {
  const [record, setRecord] = useState<TaskRecord>();
  useEffect(() => {
    if (requestId === undefined) return;
    let isCurrent = true;
    // Steps come several at once.
    const timer = setTimeout(async () => {
      const newRecord = await read<TaskRecord>(`/operate/api/tasks/${requestId}`).catch(() => {
        // Without a record the steps of this run are all there is.
        return undefined;
      });
      if (isCurrent) setRecord(newRecord);
    }, 200);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [requestId, count]);
  return requestId === undefined ? undefined : record;
}
