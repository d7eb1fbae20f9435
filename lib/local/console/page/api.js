/** Asks the server, and has it do things. Rejects with an Error whose message is for a person. */

export const read = (path) => ask(path, {});

const tellEveryMs = 60_000;
let toldAtMs = 0;

/** A page that only keeps itself up to date is idle for the server; so it is told when somebody is there. */
export function tellActivity() {
  if (Date.now() - toldAtMs < tellEveryMs) return;
  toldAtMs = Date.now();
  ask("where", { headers: { "x-operator-active": "1" } }).catch(() => {});
}

/** As JSON, which no other site can send. */
export function act(path, body = {}) {
  return ask(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
}

async function ask(path, options) {
  const answer = await fetch(`/operate/api/${path}`, options).catch(() => undefined);
  if (answer?.status === 401) {
    // The hash is where to come back to.
    location.replace(`/operate/sign-in${location.hash}`);
    return new Promise(() => {});
  }
  const said = await answer?.json().catch(() => undefined);
  if (answer?.ok && said !== undefined) return said;
  throw new Error(said?.words ?? "The server does not answer. Is it still running?");
}
