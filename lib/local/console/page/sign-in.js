/** The sign-in form: the token goes to the server once, and comes back as a cookie that no script can read. */
import { $ } from "../../web/dom.js";
import { act, errorBox, read } from "../../web/server.js";

const problem = errorBox();
$("form").append(problem.box);

/** The hash of the form's address is where the person wanted to go. */
const enter = () => location.replace(`/operate/${location.hash}`);
const statusOfVisit = () =>
  read("/operate/api/where").then(
    () => 200,
    ({ status }) => status,
  );

// The browser sends no cookie for a link from another site. It does when this page asks.
if ((await statusOfVisit()) === 200) enter();

$("form").onsubmit = async (event) => {
  event.preventDefault();
  await problem.attempt(async () => {
    await act("/operate/sign-in", { token: $("token").value });
    if ((await statusOfVisit()) !== 401) return enter();
    throw new Error(
      "Your browser did not keep you signed in. At this address, the page needs https.",
    );
  });
  $("token").select();
};
$("token").focus();
