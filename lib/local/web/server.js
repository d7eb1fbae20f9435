/** Talks to the server. Rejects with an Error whose message is for a person. */
import { h } from "./dom.js";

export const read = (path, headers = {}) => ask(path, { headers });

/** Posts JSON, which no other site can send without asking. */
export function act(path, body = {}) {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

export function upload(path, file) {
  return ask(path, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: file,
  });
}

async function ask(path, options) {
  const answer = await fetch(path, options).catch(() => undefined);
  if (answer?.ok) return answer.json();
  const message = await answer?.text().catch(() => "");
  throw Object.assign(
    new Error(message?.trim() || "The server is not responding. Is it still running?"),
    {
      status: answer?.status,
    },
  );
}

/** A box for what went wrong last. */
export function errorBox(prefix = "") {
  const box = h("p.problem.bad", { role: "alert" });
  return {
    box,
    /** Resolves to the result, or to undefined after it has shown what went wrong. */
    async attempt(work) {
      try {
        const result = await work();
        box.textContent = "";
        return result;
      } catch (error) {
        box.textContent = prefix + error.message;
        return undefined;
      }
    },
  };
}

/** Server-sent events: `onEvent` gets each one, `onState` hears of "on", "off" (it is tried again) and "refused". */
export function listen(path, { onEvent, onState }) {
  const source = new EventSource(path);
  source.onopen = () => onState("on");
  source.onmessage = ({ data }) => onEvent(JSON.parse(data));
  source.onerror = () => onState(source.readyState === EventSource.CLOSED ? "refused" : "off");
  return source;
}
