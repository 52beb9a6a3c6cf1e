"""One module per SQS action, named as on the wire.

What moves messages is called back: `handle(context, request, done)` returns at once, and
`done` is called with the result or the refusal. The rest waits as a coroutine.
"""
