/** The sign-in form: the token goes to the server once, and comes back as a cookie that no script can read. */
import { $ } from "../../web/dom.js";

/** Behind the form's own address is where the person wanted to go. */
const enter = () => location.replace(`/operate/${location.hash}`);

// A link from another site brings no cookie along; asked from here, it does.
if ((await fetch("/operate/api/where").catch(() => undefined))?.ok) enter();

$("form").onsubmit = async (event) => {
  event.preventDefault();
  $("problem").textContent = "";
  const body = JSON.stringify({ token: $("token").value });
  const headers = { "content-type": "application/json" };
  const answer = await fetch("/operate/sign-in", { method: "POST", headers, body }).catch(() => undefined);
  if (answer?.ok) {
    if ((await fetch("/operate/api/where").catch(() => undefined))?.status !== 401) return enter();
    $("problem").textContent = "Your browser did not keep the sign-in: under this name the page needs https.";
    return;
  }
  const words = await answer?.json().then(
    (said) => said.words,
    () => undefined,
  );
  $("problem").textContent = words ?? "The server does not answer. Is it still running?";
  $("token").select();
};
$("token").focus();
