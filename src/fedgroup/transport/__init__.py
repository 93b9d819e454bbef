"""The wire: messages as bytes, topics, links over MQTT or in memory, an embedded broker, rules for every broker.

    codec                 a message as bytes, in one form only
    topics, access        where a message goes, and who may read and write there
    links                 the two ends of a wire, as `live/` sees them
    memory                both ends in one process
    packets, connection   MQTT 3.1.1 at QoS 0: bytes, and one connection
    backoff, inbox, mqtt  both ends over MQTT, coming back by themselves
    star, tunnel          what an embedded broker decides, and its TLS: bytes in, bytes out
    listening, callers    where it listens, and its connections, with their limits
    broker                the embedded broker
    acl                   ready configuration of mosquitto and NATS

What it carries it does not understand: noisy, masked or sealed values, and public questions.
"""
