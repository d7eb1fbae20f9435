/** The form of a message: its text, its files, and the button that sends it. */
import type { RefObject, TargetedEvent } from "preact";
import { useRef } from "preact/hooks";
import type { Prompt } from "../../local-events.ts";
import { act, upload } from "../server.ts";
import { formatSize } from "./thread.tsx";

/** Where a message goes, and who writes it. */
export type Place = { channel: string; threadTs?: string | undefined; user: string };

const maxFiles = 10;

/** Uploads the files, and posts the message with them. */
async function sendMessage(
  { channel, threadTs, user }: Place,
  { text, files = [] }: { text: string; files?: readonly File[] },
): Promise<void> {
  const ids: string[] = [];
  for (const file of files) {
    const query = new URLSearchParams({ name: file.name, type: file.type, user });
    ids.push((await upload<{ id: string }>(`/local/files?${query}`, file)).id);
  }
  await act("/local/messages", { text, channel, user, file_ids: ids, thread_ts: threadTs });
}

type ComposerProps = {
  place: Place;
  field: RefObject<HTMLTextAreaElement | null>;
  /** The files to send with the next message. */
  files: readonly File[];
  setFiles: (change: (files: readonly File[]) => readonly File[]) => void;
  prompts: readonly Prompt[];
  /** The words of the thread that the person replies in. */
  replyingTo: string | undefined;
  leaveThread: () => void;
  /** Absent where other apps do not write. */
  postAlert: (() => void) | undefined;
  /** Resolves to false after it has shown what went wrong. */
  attempt: (work: () => Promise<unknown>) => Promise<boolean>;
};

export function Composer(props: ComposerProps) {
  const { place, field, files, setFiles, prompts, postAlert, attempt } = props;
  const { replyingTo, leaveThread } = props;
  const form = useRef<HTMLFormElement>(null);

  function attach(added: FileList | readonly File[] | undefined | null): void {
    setFiles((current) => [...current, ...(added ?? [])].slice(0, maxFiles));
    field.current?.focus();
  }

  function write(text: string): void {
    if (field.current !== null) field.current.value = text;
  }

  const onSubmit = async (event: Event) => {
    event.preventDefault();
    const text = field.current?.value.trim() ?? "";
    if (text === "" && files.length === 0) return;
    // Cleared at once: what is typed meanwhile stays, and a second Enter does not send it again.
    write("");
    setFiles(() => []);
    if (await attempt(() => sendMessage(place, { text, files }))) return;
    write([text, field.current?.value].filter(Boolean).join("\n"));
    attach(files);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // While an input method composes (Japanese), Enter belongs to it.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    form.current?.requestSubmit();
  };
  const onPaste = ({ clipboardData }: ClipboardEvent) => {
    if (clipboardData !== null && clipboardData.files.length > 0) attach(clipboardData.files);
  };
  const onFiles = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
    attach([...(currentTarget.files ?? [])]);
    currentTarget.value = "";
  };
  return (
    <form ref={form} class="composer" onSubmit={onSubmit}>
      <fieldset class="suggestions">
        <legend class="hidden">Examples</legend>
        {prompts.map(({ title, message }) => (
          <button
            type="button"
            key={title}
            onClick={() => attempt(() => sendMessage(place, { text: message }))}
          >
            {title}
          </button>
        ))}
        <button type="button" disabled={postAlert === undefined} onClick={postAlert}>
          Post as an alert
        </button>
      </fieldset>
      {replyingTo !== undefined && (
        <p class="replying-to">
          <span>Replying to “{replyingTo}”</span>
          <button type="button" class="link" onClick={leaveThread}>
            Leave thread
          </button>
        </p>
      )}
      {files.length > 0 && (
        <ul class="suggestions" aria-label="Files to send">
          {files.map((file, index) => (
            <li key={index}>
              {`${file.name} · ${formatSize(file.size)} `}
              <button
                type="button"
                class="link"
                aria-label={`Remove ${file.name}`}
                onClick={() => setFiles((current) => current.filter((each) => each !== file))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="box">
        <label class="hidden" htmlFor="text">
          Message
        </label>
        <textarea
          id="text"
          ref={field}
          rows={2}
          maxLength={40_000}
          placeholder="Ask the bot. Press Enter to send."
          {...{ onKeyDown, onPaste }}
        />
        <label class="attach" title="Attach files">
          <span class="hidden">Attach files</span>
          <input type="file" multiple onChange={onFiles} />
          <svg viewBox="0 0 20 20" aria-hidden="true">
            <path d="M14.5 9.2 9.3 14.4a3 3 0 0 1-4.3-4.2l6-6a2 2 0 0 1 2.9 2.8l-6 6a1 1 0 0 1-1.4-1.4l5.2-5.2" />
          </svg>
        </label>
        <button class="primary" type="submit">
          Send
        </button>
      </div>
    </form>
  );
}
