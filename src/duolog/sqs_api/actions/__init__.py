"""One module per SQS action, named as on the wire.

Actions that move messages take a callback: `handle(context, request, done)` returns at once, and
`done` is called with the result or the refusal. All other actions are coroutines.
"""
