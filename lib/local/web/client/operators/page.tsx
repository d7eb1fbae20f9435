/** Shared by the views of the operators' page: requests to the server, polls, keys, dialogs, and what a screen reader says. */
import { type ComponentChildren, createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as server from "../server.ts";

export const read = <T,>(path: string, headers?: Record<string, string>) =>
  server.read<T>(`/operate/api/${path}`, headers).catch(signInFirst);
export const act = <T,>(path: string, body?: object) =>
  server.act<T>(`/operate/api/${path}`, body).catch(signInFirst);

/** The form leads back to the hash. */
function signInFirst(error: unknown): Promise<never> {
  if (!(error instanceof server.ServerError) || error.status !== 401) throw error;
  location.replace(`/operate/sign-in${location.hash}`);
  return new Promise(() => {});
}

/** `attempt` runs `work`, and keeps the message of its error as `problem`. */
export function useProblem() {
  const [problem, setProblem] = useState("");
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
      setProblem("");
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }
  return { problem, attempt };
}

/** Listens while the component is on the page. Events of the document bubble to the window. */
export function useListener<Name extends keyof Events>(
  names: readonly Name[],
  listener: (event: Events[Name]) => void,
): void {
  useEffect(() => {
    const stop = new AbortController();
    for (const name of names)
      addEventListener(name, listener as EventListener, { signal: stop.signal });
    return () => stop.abort();
  });
}

type Events = WindowEventMap & DocumentEventMap;

export function useIsVisible(): boolean {
  const readVisible = () => document.visibilityState === "visible";
  const [isVisible, setIsVisible] = useState(readVisible);
  useListener(["visibilitychange"], () => setIsVisible(readVisible));
  return isVisible;
}

/** Calls `work` at once and every `everyMs` while the page is visible. */
export function useRepeat(everyMs: number, work: () => void): void {
  const latestWork = useRef(work);
  latestWork.current = work;
  const isVisible = useIsVisible();
  useEffect(() => {
    if (!isVisible) return undefined;
    latestWork.current();
    const timer = setInterval(() => latestWork.current(), everyMs);
    return () => clearInterval(timer);
  }, [isVisible, everyMs]);
}

/** Keys that work unless somebody types, or a dialog is open. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  useListener(["keydown"], (event) => {
    const { target, key, ctrlKey, metaKey, altKey } = event;
    const isTyping = target instanceof Element && target.matches("input, textarea, select");
    if (isTyping || ctrlKey || metaKey || altKey || document.querySelector("dialog[open]")) return;
    const run = keys[key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  });
}

export const goTo = (hash: string) => {
  location.hash = hash;
};

/** The short form of a request id that pages and messages show. */
export const shortId = (id: string) => id.slice(0, 8);

export const count = (number: number, one: string) => `${number} ${one}${number === 1 ? "" : "s"}`;

/** What a confirmation says: the question, the effect, and the button that means yes. */
export type Question = { title: string; text: string; yes: string };

type PageActions = {
  /** A screen reader says the text. */
  announce(text: string): void;
  /** Resolves to true if the person confirms. Escape means no. */
  confirm(question: Question): Promise<boolean>;
};

export const PageContext = createContext<PageActions>({
  announce() {},
  confirm: async () => false,
});

export const usePage = () => useContext(PageContext);

export type DialogContent = {
  title: string;
  body: ComponentChildren;
  answers: readonly { label: string; look: "quiet" | "primary"; value: string }[];
  /** Gets the value of the answer, or "" for Escape. */
  onClose(value: string): void;
};

export function Dialog({ title, body, answers, onClose }: DialogContent) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => element.current?.showModal(), []);
  return (
    <dialog
      ref={element}
      aria-labelledby="dialog-title"
      onClose={() => onClose(element.current?.returnValue ?? "")}
    >
      <h2 id="dialog-title">{title}</h2>
      {body}
      <form method="dialog" class="answers">
        {answers.map(({ label, look, value }) => (
          <button key={label} type="submit" class={look} value={value}>
            {label}
          </button>
        ))}
      </form>
    </dialog>
  );
}
