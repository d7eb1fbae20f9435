"""The agent: replace this with your own code."""
import re


def agent(task, run):
    """Returns the answer, in Markdown. `task` has the params of execute_task, such as text, user_id, history and attachments.

    A text that begins with "wait 5" is answered over five seconds, and one that begins with "fail" fails. An exception fails the task.
    Its text goes nowhere: people read a fixed sentence, and the log says the type and the line.
    """
    text = task["text"]
    if text.startswith("fail"):
        raise ValueError("nobody reads this")
    answer = f"You wrote: {text}"
    if match := re.match(r"wait (\d{1,3})\b", text):
        seconds = int(match[1])
        for second in range(seconds):
            run.progress(percent=100 * second // seconds, partial=answer[: len(answer) * second // seconds])
            run.sleep(1)  # Raises Stopped when the task is canceled or its time is over. run.check() does so without waiting.
    return answer
