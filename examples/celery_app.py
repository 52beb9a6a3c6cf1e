"""A Celery application whose broker is Duolog, over Celery's own SQS transport.

Shows: the broker's URL and options, a task that is retried, and late acknowledgement, by which a
task whose worker dies is run by another one.

    make run                                                                # in one terminal
    .venv/bin/celery -A examples.celery_app worker --pool solo --loglevel INFO    # in another
    .venv/bin/python -m examples.celery_app
"""

import os

from celery import Celery, Task

SQS = os.environ.get("DUOLOG_SQS_LISTEN", "127.0.0.1:9324")

app = Celery("examples", broker=f"sqs://any:any@{SQS}//")
app.conf.update(
    broker_transport_options={
        "is_secure": False,
        "region": "us-east-1",
        "visibility_timeout": 60,
        "queue_name_prefix": "example-",
    },
    task_acks_late=True,
    task_ignore_result=True,
    broker_connection_retry_on_startup=True,
)


@app.task(name="greet")
def greet(name: str) -> str:
    return f"hello {name}"


@app.task(name="stutter", bind=True, max_retries=2)
def stutter(self: Task, word: str) -> str:
    """Fails at first, and is sent again to run a second later."""
    if self.request.retries == 0:
        raise self.retry(countdown=1)
    return f"{word}, {word}"


def main() -> None:
    greet.delay("Ada")
    stutter.delay("well")
    print("sent 2 tasks")


if __name__ == "__main__":
    main()
