/** The web app. The document names the page that it shows (`data-page`): the local page, the operators' page, or the sign-in. */
import { type ComponentType, render } from "preact";
import { LocalPage } from "./local/page.tsx";
import { Operators } from "./operators/operators.tsx";
import { SignIn } from "./sign-in.tsx";

const pages: Readonly<Record<string, ComponentType>> = {
  local: LocalPage,
  operators: Operators,
  "sign-in": SignIn,
};

const root = document.getElementById("app");
const Page = pages[root?.dataset.page ?? ""];
if (root !== null && Page !== undefined) render(<Page />, root);
