/** The sign-in form: the token goes to the server once, and comes back as a cookie that no script can read. */
import type { TargetedSubmitEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Mark, Problem } from "./elements.tsx";
import { useProblem } from "./operators/page.tsx";
import { act, read, type ServerError } from "./server.ts";

/** The hash of the form's address is where the person wanted to go. */
const enter = () => location.replace(`/operate/${location.hash}`);

/** Undefined if the person is signed in. */
const readRefusal = () =>
  read("/operate/api/where").then(
    () => undefined,
    (error: ServerError) => error,
  );

export function SignIn() {
  const { problem, attempt } = useProblem();
  const [hint, setHint] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    field.current?.focus();
    // The browser sends no cookie for a link from another site. It does when this page asks.
    void readRefusal().then((refusal) =>
      refusal === undefined ? enter() : setHint(refusal.message),
    );
  }, []);

  async function signIn(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    const text = field.current?.value.trim() ?? "";
    // On one machine people have an address with a token in it.
    const token = URL.parse(text)?.searchParams.get("token") ?? text;
    await attempt(async () => {
      await act("/operate/sign-in", { token });
      if ((await readRefusal())?.status !== 401) return enter();
      throw new Error(
        "Your browser did not keep you signed in. At this address, the page needs https.",
      );
    });
    field.current?.select();
  }

  return (
    <main class="sign-in">
      <form class="panel" onSubmit={signIn}>
        <Mark />
        <h1>Sekisho operators</h1>
        <p class="soft">{hint}</p>
        <label for="token">Token</label>
        <input
          ref={field}
          id="token"
          type="password"
          autocomplete="current-password"
          required
          spellcheck={false}
        />
        <button type="submit" class="primary">
          Sign in
        </button>
        <Problem text={problem} />
      </form>
    </main>
  );
}
