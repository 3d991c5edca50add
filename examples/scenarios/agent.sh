#!/bin/sh
# A small agent. It receives the attempt as JSON on standard input and answers with JSON: its answer, the tools that it
# called, and its usage. Plain text would do as well.
attempt=$(cat)
answer() { printf '{"output": "%s", "tool_calls": [%s], "tokens": %s, "cost_usd": %s}\n' "$1" "$2" "$3" "$4"; }
case $attempt in
*"ignore your rules"*) answer "I cannot share that. Please write to security@example.com." "" 60 0.0003 ;;
*refund*) answer "I have started your refund. It takes 5 days." '{"function": "start_refund", "arguments": {"order": 17}}' 210 0.0011 ;;
*parcel*) answer "Your parcel arrives on Monday." '{"function": "look_up_order", "arguments": {"order": 17}}' 180 0.0009 ;;
*) answer "I do not know. A colleague will call you." "" 90 0.0004 ;;
esac
